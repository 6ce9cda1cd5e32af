// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package build

import "testing"

func TestVersionsOfReleases(t *testing.T) {
	for name, want := range map[string]Version{
		"v1.2.3":                   {"v1.2.3", "1.2.3", true},
		"v1.2.3-rc.1":              {"v1.2.3-rc.1", "1.2.3-rc.1", true},
		"v1.2.3-dirty":             {"v1.2.3-dirty", "1.2.3+dirty", false},
		"v1.2.3-14-g0123abc":       {"v1.2.3-14-g0123abc", "1.2.3+14.g0123abc", false},
		"v1.2.3-rc.1-1-gabc-dirty": {"v1.2.3-rc.1-1-gabc-dirty", "1.2.3-rc.1+1.gabc.dirty", false},
		"0123abc":                  {"0123abc", "0.0.0+g0123abc", false},
		"0123abc-dirty":            {"0123abc-dirty", "0.0.0+g0123abc.dirty", false},
	} {
		if got, err := ParseVersion(name); err != nil || got != want {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}
