// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package nearest

import (
	"strings"
	"testing"
)

func TestTheWordThatWasMeant(t *testing.T) {
	long := strings.Repeat("x", 65)
	for what, c := range map[string]struct {
		word  string
		known []string
		most  int
		want  string
	}{
		"a letter is missing":       {"regon", []string{"name", "region"}, 2, "region"},
		"the nearest one":           {"pm_url", []string{"pm_uri2", "pm_urls"}, 2, "pm_urls"},
		"of equal ones the first":   {"b", []string{"a", "c"}, 1, "a"},
		"nothing is near":           {"region", []string{"name"}, 2, ""},
		"the same word":             {"name", []string{"nam", "name"}, 2, "name"},
		"nothing is known":          {"name", nil, 2, ""},
		"words as long as novels":   {long, []string{long}, 9, ""},
		"known words that are long": {"x", []string{long, "y"}, 1, "y"},
	} {
		if got := Word(c.word, c.known, c.most); got != c.want {
			t.Errorf("%s: %q", what, got)
		}
	}
}
