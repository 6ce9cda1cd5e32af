// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package run

import "testing"

func TestWhichProvidersTheMirrorServes(t *testing.T) {
	aws, other := "registry.opentofu.org/hashicorp/aws", "registry.example.com/acme/thing"
	for sentence, c := range map[string]struct {
		mirror     *Mirror
		aws, other bool
	}{
		"no mirror":                    {nil, false, false},
		"no lists":                     {&Mirror{}, true, true},
		"a host":                       {&Mirror{Allow: []string{"registry.opentofu.org"}}, true, false},
		"a namespace":                  {&Mirror{Allow: []string{"registry.opentofu.org/hashicorp/"}}, true, false},
		"any host":                     {&Mirror{Allow: []string{"*/acme/*"}}, false, true},
		"a denied provider":            {&Mirror{Deny: []string{"registry.opentofu.org/hashicorp/aws"}}, false, true},
		"denied and allowed":           {&Mirror{Allow: []string{"*"}, Deny: []string{"*/*/a*"}}, false, true},
		"a longer pattern":             {&Mirror{Allow: []string{"*/*/*/*"}}, false, false},
		"a pattern that is not one":    {&Mirror{Allow: []string{"["}}, false, false},
		"a part of a name is no match": {&Mirror{Allow: []string{"registry.opentofu.org/hashi"}}, false, false},
	} {
		if got := c.mirror.Serves(aws); got != c.aws {
			t.Errorf("%s: %s: %t", sentence, aws, got)
		}
		if got := c.mirror.Serves(other); got != c.other {
			t.Errorf("%s: %s: %t", sentence, other, got)
		}
	}
}
