// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package names_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/dns/subdomain/names"
)

func TestParse(t *testing.T) {
	ascii := names.Rules{Reserved: []string{"Acme"}, Blocked: []string{"paypal"}}
	all := ascii
	all.International = true
	for text, test := range map[string]struct {
		rules      names.Rules
		want, says string
	}{
		"team-7":                {rules: ascii, want: "team-7"},
		"a":                     {rules: ascii, want: "a"},
		strings.Repeat("a", 63): {rules: ascii, want: strings.Repeat("a", 63)},
		strings.Repeat("a", 64): {rules: ascii, says: "has 64 characters"},
		"":                      {rules: ascii, says: "is not valid"},
		"-x":                    {rules: ascii, says: "RFC 1035"},
		"x-":                    {rules: ascii, says: "RFC 1035"},
		"7up":                   {rules: ascii, says: "begins with a letter"},
		"Team":                  {rules: ascii, says: "lower-case"},
		"a.b":                   {rules: ascii, says: "is not valid"},
		"*":                     {rules: ascii, says: "is not valid"},
		"@":                     {rules: ascii, says: "spec.whole"},
		"a_b":                   {rules: ascii, says: "is not valid"},
		"a b":                   {rules: ascii, says: "is not valid"},
		"a\nb":                  {rules: ascii, says: `"a\nb"`},
		"a\x00":                 {rules: ascii, says: "is not valid"},
		"ab--c":                 {rules: ascii, says: "RFC 5891"},
		"xn--mller-kva":         {rules: ascii, says: "spec.international"},
		"müller":                {rules: ascii, says: `"m\u00fcller" is not allowed`},
		"www":                   {rules: ascii, says: "is reserved"},
		"vvvvw":                 {rules: ascii, says: "looks like www"},
		"adm1n":                 {rules: ascii, says: "looks like admin"},
		"rnail":                 {rules: ascii, says: "looks like mail"},
		"acme":                  {rules: ascii, says: "is reserved"},
		"acrne":                 {rules: ascii, says: "looks like Acme"},
		"my-paypa1":             {rules: ascii, says: "the pool blocks"},
		"pay-pal":               {rules: ascii, says: "the pool blocks"},
		"Müller":                {rules: all, says: "RFC 5891"},
		"mu\u0308ller":          {rules: all, says: "RFC 5891"},
		"xn--mller-kv":          {rules: all, says: "RFC 5891"},
		"xn--a":                 {rules: all, says: "RFC 5891"},
		"xn--":                  {rules: all, says: "RFC 5891"},
		"日本":                    {rules: all, want: "xn--wgv71a"},
		"пример":                {rules: all, want: "xn--e1afmkfd"},
		"ехаmple":               {rules: all, says: "mixes scripts: Cyrillic, Latin"},
		"ѕсоре":                 {rules: all, says: "looks like a name of Latin letters"},
		"рaypal":                {rules: all, says: "mixes scripts"},
		"a\u200db":              {rules: all, says: "RFC 5891"},
		"a\u202eb":              {rules: all, says: "RFC 5891"},
		"ádmin":                 {rules: all, says: "looks like admin"},
		"a。b":                   {rules: all, says: "RFC 5891"},
		"\xff\xfe":              {rules: all, says: "RFC 5891"},
		"😀":                     {rules: all, says: "script is not supported"},
	} {
		t.Run(text, func(t *testing.T) {
			got, err := names.Parse(text, test.rules)
			if got != test.want && test.want != "" || (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %q, %v; want %q, %q", got, err, test.want, test.says)
			}
		})
	}
	for _, text := range []string{"müller", "xn--mller-kva"} {
		if got, err := names.Parse(text, all); got != "xn--mller-kva" || err != nil {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
	if got, err := names.Parse("@", names.Rules{Whole: true}); got != "@" || err != nil {
		t.Error(got, err)
	}
	if _, err := names.Parse("x", names.Rules{Whole: true}); err == nil {
		t.Error("a name below a whole domain is accepted")
	}
	var reserved *names.ReservedError
	if _, err := names.Parse("www", ascii); !errors.As(err, &reserved) {
		t.Error(err)
	}
}

func TestSkeleton(t *testing.T) {
	for a, b := range map[string]string{"scope": "scope", "xn--mller-kva": "muller", "team-il": "team-11", "modern": "modem", "cloud": "doud"} {
		if names.Skeleton(a) != names.Skeleton(b) {
			t.Errorf("%s and %s look alike, but have the skeletons %s and %s", a, b, names.Skeleton(a), names.Skeleton(b))
		}
	}
	if names.Skeleton("acme") == names.Skeleton("acne") {
		t.Error("acme and acne do not look alike")
	}
}

// FuzzParse: whatever is accepted is a label of ASCII that is accepted again.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"acme", "müller", "xn--mller-kva", "日本", "a--b", "\xff", "@", "*"} {
		f.Add(seed)
	}
	rules := names.Rules{International: true, Blocked: []string{"-"}}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := names.Parse(text, rules)
		if err != nil {
			return
		}
		if len(got) == 0 || len(got) > 63 || strings.ContainsFunc(got, func(r rune) bool { return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') }) {
			t.Fatalf("%q became %q", text, got)
		}
		if again, err := names.Parse(got, rules); again != got || err != nil {
			t.Fatalf("%q became %q, which is not accepted: %q, %v", text, got, again, err)
		}
	})
}
