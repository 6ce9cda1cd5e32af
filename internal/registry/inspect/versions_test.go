// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import "testing"

func TestConstraintsThatExcludeVersions(t *testing.T) {
	for _, c := range []struct {
		before, after string
		want          bool
	}{
		{"", "", false}, {"", ">= 1.0", true}, {">= 1.0", "", false},
		{">= 1.0", ">= 1.0.0", false}, {">= 1.0", "> 1.0", true}, {"> 1.0", ">= 1.0", false},
		{"~> 1.2", ">= 1.2, < 2.0", false}, {">= 1.2, < 2.0", "~> 1.2", false}, {"~> 1.2", "~> 1.2.0", true},
		{"~> 1.2.0", "~> 1.2", false}, {"~> 1", "~> 1.0", true}, {"~> 1.0", "~> 1", false},
		{"1.2.3", ">= 1.0", false}, {">= 1.0", "1.2.3", true}, {">= 1.0", ">= 1.0, != 1.2.3", true},
		{"!= 1.2.3", "!= 1.2.3", false}, {"< 1.0", "!= 1.2.3", false}, {"= 1.0.0", "v1.0.0", false},
		{"< 1, > 2", ">= 5", false}, {">= 1", "< 1, > 2", true}, {"nonsense", "nonsense", true}, {">= 1.0-beta", ">= 1.0", true},
	} {
		if got := narrows([]string{c.before}, []string{c.after}); got != c.want {
			t.Errorf("%q to %q: %v", c.before, c.after, got)
		}
	}
}

func TestConstraintsAllow(t *testing.T) {
	for _, c := range []struct {
		constraints, version string
		want                 bool
	}{
		{"~> 1.2", "1.9.0", true}, {"~> 1.2", "2.0.0", false}, {"~> 1.2.0", "1.3.0", false}, {">= 1.0, < 2", "1.5.0", true},
		{"!= 1.2.3", "1.2.3", false}, {"", "0.0.1", true}, {"< 1, > 2", "1.5.0", false}, {">= 1", "1.0", false},
	} {
		set, err := ParseConstraints(c.constraints)
		if err != nil || set.Allow(c.version) != c.want {
			t.Errorf("%q, %s: %v", c.constraints, c.version, err)
		}
	}
	if _, err := ParseConstraints("latest"); err == nil {
		t.Error("a word is a constraint")
	}
}
