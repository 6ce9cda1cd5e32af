// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package row

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"
)

func TestSafeUID(t *testing.T) {
	for raw, want := range map[string]string{
		"acme":                                 "acme",
		"42":                                   "42",
		"a--b":                                 "a--b",
		"0f8fad5b-d9cb-469f-a165-70867728950e": "0f8fad5b-d9cb-469f-a165-70867728950e",
		strings.Repeat("a", 40):                strings.Repeat("a", 40),
		strings.Repeat("a", 41):                strings.Repeat("a", 31) + "-" + hash(strings.Repeat("a", 41)),
		"Acme":                                 "acme-" + hash("Acme"),
		"acme.org":                             "acme-org-" + hash("acme.org"),
		"Großfürst":                            "gro-f-rst-" + hash("Großfürst"),
		"-acme-":                               "acme-" + hash("-acme-"),
		"日本":                                   "t-" + hash("日本"),
		"../etc":                               "etc-" + hash("../etc"),
	} {
		if got := SafeUID(raw); got != want {
			t.Errorf("%q is %q, want %q", raw, got, want)
		}
	}
}

func TestTheHashIsTheBeginningOfSHA256(t *testing.T) {
	// echo -n abc | sha256sum
	if got := hash("abc"); got != "ba7816bf" {
		t.Errorf("the hash is %q; with another one every tenant would get other names", got)
	}
}

func TestTenantName(t *testing.T) {
	for _, c := range []struct{ uid, template, want string }{
		{"acme", "web", "acme-web"},
		{strings.Repeat("a", 40), strings.Repeat("b", 22), strings.Repeat("a", 40) + "-" + strings.Repeat("b", 22)},
		{strings.Repeat("a", 40), strings.Repeat("b", 23), strings.Repeat("a", 40) + "-" + strings.Repeat("b", 13) + "-" +
			hash(strings.Repeat("a", 40)+"/"+strings.Repeat("b", 23))},
		{"acme", strings.Repeat("b", 48) + "." + strings.Repeat("c", 48), "acme-" + strings.Repeat("b", 48) + "-" +
			hash("acme/"+strings.Repeat("b", 48)+"."+strings.Repeat("c", 48))},
	} {
		if got := TenantName(c.uid, c.template); got != c.want {
			t.Errorf("%s with %s is %q, want %q", c.uid, c.template, got, c.want)
		}
	}
}

func TestTwoTenantsThatWouldHaveOneName(t *testing.T) {
	if TenantName("a-b", "c") != TenantName("a", "b-c") {
		t.Fatal("they have two names; this is about those that have one")
	}
	one, other := OtherTenantName("a-b", "c"), OtherTenantName("a", "b-c")
	if want := "a-b-c-" + hash("a-b/c"); one != want {
		t.Errorf("one is %q, want %q", one, want)
	}
	if one == other || other == TenantName("a", "b-c") {
		t.Errorf("one is %q, the other one %q", one, other)
	}
}

func TestLawsOfUIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.OneOf(rapid.StringN(1, 80, -1), rapid.StringMatching(`[a-zA-Z0-9._-]{1,80}`)).Draw(t, "uid")
		safe := SafeUID(raw)
		if problems := validation.IsDNS1123Label(safe); problems != nil || len(safe) > 40 {
			t.Fatalf("%q of %q: %v", safe, raw, problems)
		}
		if len(validation.IsDNS1123Label(raw)) == 0 && len(raw) <= 40 && safe != raw {
			t.Fatalf("%q was good as it was, and is %q", raw, safe)
		}
		if SafeUID(safe) != safe {
			t.Fatalf("%q is not safe itself", safe)
		}
		other := rapid.String().Draw(t, "other")
		if other != raw && SafeUID(other) == safe && safe != raw && safe != other {
			t.Fatalf("%q and %q are both %q", raw, other, safe)
		}
		template := rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?){0,4}`).Draw(t, "template")
		for _, name := range []string{TenantName(safe, template), OtherTenantName(safe, template)} {
			if problems := append(validation.IsDNS1123Subdomain(name), validation.IsValidLabelValue(name)...); len(problems) > 0 {
				t.Fatalf("%q with %q is %q: %v", safe, template, name, problems)
			}
		}
	})
}
