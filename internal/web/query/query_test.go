// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package query

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/web/standing"
)

var (
	now = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	vpc = Stack{Namespace: "team-a", Name: "vpc", State: "failed", Drift: true, Changed: now.Add(-time.Hour), Labels: map[string]string{"env": "prod", "example.com/team": "Network"},
		Source: "GitRepository/flux-system/infra", Tenant: "customers/acme", Cause: "1a2b3c", Text: "Plan error: Access Denied"}
)

func TestMatch(t *testing.T) {
	facts := Facts{Now: now, Users: map[Lookup]map[string]bool{{"acme/vpc/*@<2"}: {"team-a/vpc": true}, {"hashicorp/aws"}: {}}}
	for text, want := range map[string]bool{
		"":                             true,
		"  ":                           true,
		"vpc":                          true,
		"team-a/v":                     true,
		"VPC denied":                   true,
		`"access denied"`:              true,
		`"access  denied"`:             false,
		"acc*nied":                     true,
		"dns":                          false,
		"-dns":                         true,
		"-vpc":                         false,
		"status:failed":                true,
		"status:FAILED":                true,
		"status:ready":                 false,
		"status:ready,failed":          true,
		"-status:ready":                true,
		"-status:ready,failed":         false,
		"status:f*":                    true,
		"drift:yes":                    true,
		"drift:no":                     false,
		"changed:<1d":                  true,
		"changed:<=1d":                 true,
		"changed:<30m":                 false,
		"changed:>30m":                 true,
		"ns:team-*":                    true,
		"ns:team":                      false,
		"ns:*":                         true,
		"name:vpc ns:team-a":           true,
		"name:v":                       false,
		"name:*p*":                     true,
		"env:prod":                     true,
		"env:dev,prod":                 true,
		"env:staging":                  false,
		"team:network":                 true,
		"example.com/team:network":     true,
		"label:team":                   true,
		"label:team=net*":              true,
		"label:team=":                  false,
		"label:nothing":                false,
		"nothing:x":                    false,
		"-nothing:x":                   true,
		"source:infra":                 true,
		"source:flux-system/infra":     true,
		"source:GitRepository/*":       true,
		"source:OCIRepository/*":       false,
		"tenant:acme":                  true,
		"tenant:acm":                   false,
		"cause:1a2b3c":                 true,
		"module:acme/vpc<2":            true,
		"-module:acme/vpc<2":           false,
		"provider:hashicorp/aws":       false,
		"status:failed env:prod vpc":   true,
		"status:failed env:prod other": false,
		"-":                            true, // a word, and it is in the name
	} {
		t.Run(text, func(t *testing.T) {
			q, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			if got := q.Match(&vpc, facts); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

func TestEnvIsAlsoEnvironment(t *testing.T) {
	q, err := Parse("env:prod")
	if err != nil {
		t.Fatal(err)
	}
	if !q.Match(&Stack{Labels: map[string]string{"example.com/environment": "prod"}}, Facts{}) {
		t.Error("the label environment is not found as env")
	}
}

func TestErrorsSayWhere(t *testing.T) {
	for text, want := range map[string]struct {
		at, end int
		says    string
	}{
		"status:broken":         {7, 13, `"broken" is not one of failed, pending`},
		"env:prod status:":      {16, 17, "status: needs a value"},
		"status:ready,":         {13, 14, "needs a value"},
		"drift:maybe":           {6, 11, "is not one of yes, no"},
		"drift:*":               {6, 7, "is not one of yes, no"},
		"changed:1d":            {8, 10, "<1d"},
		"changed:<1":            {8, 10, "<1d"},
		"changed:<":             {8, 9, "<1d"},
		"changed:<99999999999d": {8, 21, "<1d"},
		`x "open`:               {2, 7, `a quote (") is missing`},
		"tool:make":             {5, 9, "tofu or terraform"},
		"provider:aws":          {9, 12, "hashicorp/aws<5"},
		"module:vpc":            {7, 10, "acme/vpc<2"},
	} {
		t.Run(text, func(t *testing.T) {
			_, err := Parse(text)
			var problem *Error
			if !errors.As(err, &problem) {
				t.Fatalf("got %v", err)
			}
			if problem.At != want.at || problem.End != want.end || !strings.Contains(problem.Says, want.says) {
				t.Errorf("got %+v, want %+v", problem, want)
			}
		})
	}
}

func TestLookups(t *testing.T) {
	for text, want := range map[string]string{
		"module:acme/vpc":                       "acme/vpc/*",
		"module:acme/vpc<2":                     "acme/vpc/*@<2",
		"module:acme/vpc/aws":                   "acme/vpc/aws",
		"module:registry.example.com/acme/vpc":  "registry.example.com/acme/vpc/*",
		"module:acme/vpc/aws@1.2.3":             "acme/vpc/aws@1.2.3",
		`module:"acme/vpc/aws>= 1, < 2"`:        "acme/vpc/aws@>= 1, < 2",
		"provider:hashicorp/aws~>5.0":           "hashicorp/aws@~>5.0",
		"provider:example.com/hashicorp/aws":    "example.com/hashicorp/aws",
		"tool:tofu<1.10":                        "tofu@<1.10",
		"module:git::https://e.com/a.git":       "git::https://e.com/a.git",
		"module:acme/vpc module:acme/vpc ns:ab": "acme/vpc/*",
	} {
		t.Run(text, func(t *testing.T) {
			q, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			if got := q.Lookups(); len(got) != 1 || got[0].Of != want {
				t.Errorf("got %v, want %s", got, want)
			}
		})
	}
	if _, err := Parse("tool:tofu<1 tool:tofu<2 tool:tofu<3 tool:tofu<4 tool:tofu<5 tool:tofu<6"); err == nil {
		t.Error("a query may ask the index anything")
	}
}

func TestTheStatesAreThoseOfStandings(t *testing.T) {
	var words []string
	for _, s := range standing.States() {
		words = append(words, string(s))
	}
	if !slices.Equal(words, States) {
		t.Errorf("the language has %v, and stacks have %v", States, words)
	}
}

func TestComplete(t *testing.T) {
	known := Known{Labels: map[string][]string{"env": {"prod", "dev"}, "team": {"net work"}}, Namespaces: []string{"default", "team-a"}}
	for text, want := range map[string][]string{
		"st":               {"status:"},
		"-dr":              {"-drift:"},
		"x en":             {"x env:"},
		"env:":             {"env:dev", "env:prod"},
		"env:dev,p":        {"env:dev,prod"},
		"-env:p":           {"-env:prod"},
		"team:":            {`team:"net work"`},
		`team:"ne`:         {`team:"net work"`},
		"ns:te":            {"ns:team-a"},
		"drift:":           {"drift:yes", "drift:no"},
		"status:fa":        {"status:failed"},
		`"two words" drif`: {`"two words" drift:`},
		"module:":          {"module:acme/vpc<2"},
		"zzz":              nil,
	} {
		t.Run(text, func(t *testing.T) {
			var got []string
			for _, s := range Complete(text, known) {
				got = append(got, s.Text)
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
	if got := Complete("", known); len(got) != len(Fields)+2 {
		t.Errorf("for an empty text: %v", got)
	}
}

func TestWith(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "status:failed",
		"env:prod":                      "env:prod status:failed",
		"status:ready env:prod":         "env:prod status:failed",
		`-status:ready "a b" status:a*`: `-status:ready "a b" status:failed`,
		`status:nonsense "open`:         `status:nonsense "open status:failed`,
	} {
		if got := With(text, "status", "failed"); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	if got := With("", "source", "GitRepository/a b"); got != `source:"GitRepository/a b"` {
		t.Error(got)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"status:failed env:prod", `-"a b" module:acme/vpc<2`, "changed:<1d,>2w", `a:"\`, "-", ":", "a:,b", "é:ü \x00", "label:a=b=c*"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q, err := Parse(text)
		var problem *Error
		if err != nil && (!errors.As(err, &problem) || problem.At < 0 || problem.At > len(text) || problem.End <= problem.At) {
			t.Fatalf("an error without a place: %v", err)
		}
		q.Match(&vpc, Facts{Now: now})
		for _, s := range Complete(text, Known{Labels: map[string][]string{"env": {"a b", `c"d`}}}) {
			if s.Text == "" {
				t.Fatal("an empty suggestion")
			}
		}
		if err != nil {
			return
		}
		again, err := Parse(q.Text)
		if err != nil || len(again.terms) != len(q.terms) {
			t.Fatalf("the text of the query is another one: %q: %v", q.Text, err)
		}
		if one, err := Parse(Term("name", text)); text != "" && len(text) < 100 && err == nil && (len(one.terms) != 1 || one.terms[0].values[0].text != text) {
			t.Fatalf("Term is read as %+v", one)
		}
	})
}
