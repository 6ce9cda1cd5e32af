// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"strings"
	"testing"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// The order in the list counts: ids lie when a clock was set back.
func TestAcknowledgeGoesByTheListsOrder(t *testing.T) {
	u := &infrav1.UnprovenStatus{Runs: []infrav1.UnprovenRun{{ID: "r9", OlderRuns: 1}, {ID: "r5"}},
		Resources: []infrav1.UnprovenResource{{Address: "old", Run: "r1"}, {Address: "first", Run: "r9"}, {Address: "second", Run: "r5"}}}
	for upTo, want := range map[string]string{"r9": "old first", "r5": "old first second", "r2": "old"} {
		var got []string
		for _, r := range unproven(u, upTo, nil).Resources {
			got = append(got, r.Address)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("up to %s: %v, want %s", upTo, got, want)
		}
	}
}
