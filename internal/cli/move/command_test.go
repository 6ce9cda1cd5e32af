// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAllNamespacesAreThoseWithoutFlux(t *testing.T) {
	for sentence, c := range map[string]struct {
		found, want []string
		news        bool
	}{
		"Flux stays, and that is said": {[]string{"a", "flux-system", "team"}, []string{"a", "team"}, true},
		"without Flux, all move":       {[]string{"a", "team"}, []string{"a", "team"}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			news := ""
			got := withoutFlux(c.found, func(format string, args ...any) { news += fmt.Sprintf(format, args...) })
			if diff := cmp.Diff(c.want, got); diff != "" || strings.Contains(news, "-n flux-system") != c.news {
				t.Errorf("said %q (-want +got):\n%s", news, diff)
			}
		})
	}
}
