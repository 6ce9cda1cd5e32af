// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package row

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

func TestSafeUID(t *testing.T) {
	for raw, want := range map[string]string{
		"acme":                                 "acme",
		"42":                                   "42",
		"a--b":                                 "a--b",
		"0f8fad5b-d9cb-469f-a165-70867728950e": "0f8fad5b-d9cb-469f-a165-70867728950e",
		strings.Repeat("a", 40):                strings.Repeat("a", 40),
		strings.Repeat("a", 41):                strings.Repeat("a", 22) + hash(strings.Repeat("a", 41)),
		"Acme":                                 "acme" + hash("Acme"),
		"acme.org":                             "acme-org" + hash("acme.org"),
		"Großfürst":                            "gro-f-rst" + hash("Großfürst"),
		"-acme-":                               "acme" + hash("-acme-"),
		"日本":                                   "t" + hash("日本"),
		"../etc":                               "etc" + hash("../etc"),
		"acme-20240131":                        "acme-20240131",
		"0123456789abcdef":                     "0123456789abcdef",
		"acme-0123456789abcdef":                "acme-0123456789abcdef",
		"acme-x0123456789abcdeg":               "acme-x0123456789abcdeg",
		"acme-x0123456789abcde":                "acme-x0123456789abcde",
		"x0123456789abcdef":                    "x0123456789abcdef",
		"acme-x0123456789abcdef":               "acme-x0123456789abcdef" + hash("acme-x0123456789abcdef"),
	} {
		if got := SafeUID(raw); got != want {
			t.Errorf("%q is %q, want %q", raw, got, want)
		}
	}
}

func TestTheHashIsTheBeginningOfSHA256(t *testing.T) {
	// echo -n abc | sha256sum
	if got := hash("abc"); got != "-xba7816bf8f01cfea" {
		t.Errorf("the hash is %q; with another one every tenant would get other names", got)
	}
}

func TestTenantName(t *testing.T) {
	for _, c := range []struct{ uid, template, want string }{
		{"acme", "web", "acme-web"},
		{strings.Repeat("a", 40), strings.Repeat("b", 22), strings.Repeat("a", 40) + "-" + strings.Repeat("b", 22)},
		{strings.Repeat("a", 40), strings.Repeat("b", 23), strings.Repeat("a", 40) + "-bbbb" +
			hash(strings.Repeat("a", 40)+"/"+strings.Repeat("b", 23))},
		{"acme", strings.Repeat("b", 39) + "." + strings.Repeat("c", 48), "acme-" + strings.Repeat("b", 39) +
			hash("acme/"+strings.Repeat("b", 39)+"."+strings.Repeat("c", 48))},
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
	if want := "a-b-c" + hash("a-b/c"); one != want {
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
		if len(validation.IsDNS1123Label(raw)) == 0 && len(raw) <= 40 && safe != raw && !looksChanged(raw) {
			t.Fatalf("%q was good as it was, and is %q", raw, safe)
		}
		// A tenant may choose another one's safe uid as its own uid.
		for _, other := range []string{safe, rapid.String().Draw(t, "other")} {
			if other != raw && SafeUID(other) == safe {
				t.Fatalf("%q and %q are both %q", raw, other, safe)
			}
		}
		template := rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?){0,4}`).Draw(t, "template")
		for _, name := range []string{TenantName(safe, template), OtherTenantName(safe, template)} {
			if problems := append(validation.IsDNS1123Subdomain(name), validation.IsValidLabelValue(name)...); len(problems) > 0 {
				t.Fatalf("%q with %q is %q: %v", safe, template, name, problems)
			}
		}
	})
}

func TestNamesOfRegistriesAsLabels(t *testing.T) {
	long := strings.Repeat("a", 44) + "." + strings.Repeat("b", 199)
	for name, want := range map[string]string{
		"customers":             "customers",
		strings.Repeat("a", 63): strings.Repeat("a", 63),
		strings.Repeat("a", 64): strings.Repeat("a", 45) + hash(strings.Repeat("a", 64)),
		long:                    strings.Repeat("a", 44) + hash(long),
	} {
		var tenant tenantv1.Tenant
		SetRegistry(&tenant, name)
		if got := tenant.Labels[tenantv1.LabelRegistry]; got != want || len(validation.IsValidLabelValue(got)) > 0 {
			t.Errorf("the label of %q is %q, want %q", name, got, want)
		}
		if got := tenant.Registry(); got != name {
			t.Errorf("the tenant's registry is %q, want %q", got, name)
		}
	}
}
