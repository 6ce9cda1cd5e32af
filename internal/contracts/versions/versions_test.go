// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"strings"
	"testing"
)

func TestRanges(t *testing.T) {
	for text, versions := range map[string]string{
		"":              "0.0.1 1.2.0 !2.0.0-rc1",
		"~> 1.2":        "1.2.0 1.2.1 1.9.0 !1.1.9 !2.0.0 !1.3.0-rc1",
		"~> 1.2.0":      "1.2.0 1.2.9 !1.3.0",
		"~>1":           "1.0.0 1.9.9 2.0.0 !0.9.0",
		"1.2.0":         "1.2.0 !1.2.1",
		"= 1.2.0-rc1":   "1.2.0-rc1 !1.2.0",
		">= 1.2, < 3":   "1.2.0 2.9.9 !3.0.0 !1.1.0",
		"!= 1.2.0, > 1": "1.2.1 !1.2.0 !1.0.0",
		"<= 1.2":        "1.2.0 !1.2.1",
	} {
		r, err := ParseRange(text)
		if err != nil {
			t.Fatal(err)
		}
		for one := range strings.FieldsSeq(versions) {
			bare, not := strings.CutPrefix(one, "!")
			v, err := Parse(bare)
			if err != nil {
				t.Fatal(err)
			}
			if r.Has(v) == not {
				t.Errorf("%q has %s: %v", text, v, r.Has(v))
			}
		}
	}
}

func TestWhatIsNoVersion(t *testing.T) {
	for _, text := range []string{"", "1", "1.2", "v1.2.0", "1.2.0+build", "01.2.0", "1.2.0-", "1.2.9999999999"} {
		if v, err := Parse(text); err == nil {
			t.Errorf("%q is %s", text, v)
		}
	}
	for _, text := range []string{"^1.2", "1.x", "~> ", "1.2 || 2", ",", strings.Repeat(">1,", 21) + ">1"} {
		if r, err := ParseRange(text); err == nil {
			t.Errorf("%q is %s", text, r)
		}
	}
}

func TestNext(t *testing.T) {
	for text, want := range map[string][2]string{"1.2.3": {"1.3.0", "2.0.0"}, "0.2.3": {"0.3.0", "0.3.0"}} {
		v, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]string{v.Next(false).String(), v.Next(true).String()}; got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func FuzzRange(f *testing.F) {
	f.Add("~> 1.2, != 1.2.5")
	f.Add(">= v1.2-rc1")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRange(text)
		if err != nil {
			return
		}
		if again, err := ParseRange(r.text); err != nil || again.String() != r.String() {
			t.Errorf("%q: %v", text, err)
		}
	})
}
