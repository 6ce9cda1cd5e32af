// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yuba-dev/yuba/internal/contracts/shape"
	"github.com/yuba-dev/yuba/internal/testkit/contracttest"
)

func TestAdmit(t *testing.T) {
	const one, grown, broken = "object({a = string})", "object({a = string, b = optional(string)})", "object({a = number})"
	for sentence, test := range map[string]struct {
		known    []Edition
		declared Edition
		reason   Reason
		message  string
	}{
		"the first version": {nil, edition("1.0.0", one), ReasonNewVersion, "contract base 1.0.0 is new"},
		"the same again":    {[]Edition{edition("1.0.0", one)}, edition("1.0.0", one), ReasonKnownVersion, "contract base 1.0.0 is unchanged"},
		"a version that has another type": {[]Edition{edition("1.0.0", one)}, edition("1.0.0", broken), ReasonVersionExists,
			`contract base 1.0.0 exists with another type, and a version never changes:
    for producers base.a is string, not number
Declare the new type as version 2.0.0.`},
		"it grows, and the second number rises": {[]Edition{edition("1.0.0", one)}, edition("1.1.0", grown), ReasonNewVersion, "contract base 1.1.0 is new"},
		"it grows, and the third number rises": {[]Edition{edition("1.0.0", one)}, edition("1.0.1", grown), ReasonTypeGrew,
			"contract base 1.0.1 has another type than 1.0.0.\nDeclare it as version 1.1.0; both versions can be published side by side."},
		"it breaks, and the second number rises": {[]Edition{edition("1.0.0", one)}, edition("1.1.0", "object({a = optional(string)})"), ReasonBreakingChange,
			`contract base 1.1.0 breaks who uses 1.0.0:
    for consumers base.a may be null, and is required
Declare it as version 2.0.0; both versions can be published side by side.`},
		"it breaks, and the first number rises":               {[]Edition{edition("1.0.0", one)}, edition("2.0.0", broken), ReasonNewVersion, "contract base 2.0.0 is new"},
		"it breaks before 1.0.0, and the second number rises": {[]Edition{edition("0.1.0", one)}, edition("0.2.0", broken), ReasonNewVersion, "contract base 0.2.0 is new"},
		"it breaks before 1.0.0, and the third number rises": {[]Edition{edition("0.1.0", one)}, edition("0.1.1", broken), ReasonBreakingChange,
			`contract base 0.1.1 breaks who uses 0.1.0:
    for producers base.a is string, not number
Declare it as version 0.2.0; both versions can be published side by side.`},
		"a fix of an old version": {[]Edition{edition("2.0.0", broken), edition("1.0.0", one)}, edition("1.0.1", one), ReasonNewVersion, "contract base 1.0.1 is new"},
		"a version between, that the next one breaks": {[]Edition{edition("1.0.0", one), edition("1.2.0", one)}, edition("1.1.0", grown), ReasonBreakingChange,
			`contract base 1.2.0 breaks who uses 1.1.0:
    for consumers base.b is missing (string)
Declare it as version 2.0.0; both versions can be published side by side.`},
	} {
		t.Run(sentence, func(t *testing.T) {
			a := Admit(Contract{Name: "base", Known: test.known, Declared: test.declared})
			allowed := test.reason == ReasonNewVersion || test.reason == ReasonKnownVersion
			if diff := cmp.Diff([]any{allowed, test.reason, test.message}, []any{a.Allowed, a.Reason, a.Message}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A reader of a version takes the values of each later version of the same first number.
func TestAdmittedVersionsAreCompatible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := Edition{version("1.0.0"), contracttest.Type(t)}, Edition{version("1.1.0"), contracttest.Type(t)}
		if rapid.Bool().Draw(t, "alike") {
			after.Type = before.Type
		}
		if Admit(Contract{Known: []Edition{before}, Declared: after}).Allowed && len(shape.Fits(after.Type, before.Type)) > 0 {
			t.Fatalf("%s after %s", after.Type, before.Type)
		}
	})
}

func TestDeclare(t *testing.T) {
	const contract = "object({vpc_id = string, password = string, port = number, old = string, note = optional(string)})"
	e := edition("1.2.0", contract)
	declare := func(variable string, change func(*Consumer)) Declaration {
		v := ty(variable)
		c := Consumer{Name: "prod/apps", As: "base", Reads: shape.Reads(e.Type, v), Variable: shape.Variable{Type: v, Nullable: true}}
		if change != nil {
			change(&c)
		}
		return Declaration{Contract: "base", Edition: e, Private: pathsOf("password"), Deprecated: pathsOf("old"), Consumer: c}
	}
	for sentence, test := range map[string]struct {
		declaration        Declaration
		problems, warnings []string
	}{
		"it fits":                          {declare("object({vpc_id = string})", nil), nil, nil},
		"it requires what is not there":    {declare("object({vpc = string})", nil), []string{"base.vpc base 1.2.0 does not have (the variable base requires it: string)"}, nil},
		"it narrows":                       {declare("object({vpc_id = number})", nil), []string{"base.vpc_id is string in base 1.2.0, and number in the variable base"}, nil},
		"it requires what may be null":     {declare("object({note = string})", nil), []string{"base.note may be null in base 1.2.0, and the variable base requires it"}, nil},
		"it reads what is private":         {declare("object({password = string})", nil), []string{"base.password is private; declare the variable base with sensitive = true or ephemeral = true"}, nil},
		"as a sensitive variable":          {declare("object({password = string})", func(c *Consumer) { c.Variable.Secret = true }), nil, nil},
		"it reads everything":              {declare("any", nil), []string{"base.password is private; declare the variable base with sensitive = true or ephemeral = true"}, nil},
		"it reads what is deprecated":      {declare("object({old = string})", nil), nil, []string{"base.old is deprecated"}},
		"it is optional, and not nullable": {declare("object({port = number})", func(c *Consumer) { c.Optional, c.Variable.Nullable = true, false }), []string{"base is null while there is no producer, as it is optional; the variable base is not nullable and has no default"}, nil},
		"with a default":                   {declare("object({port = number})", func(c *Consumer) { c.Optional, c.Variable.Nullable, c.Variable.HasDefault = true, false, true }), nil, nil},
		"it names a path that is not there": {declare("any", func(c *Consumer) { c.Reads = pathsOf("port", "ports[0]") }),
			[]string{`base.ports[0] base 1.2.0 does not have (the path "ports[0]": the value has no attribute "ports"; it has note, old, password, port, vpc_id)`}, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			d := Declare(test.declaration)
			if diff := cmp.Diff([][]string{test.problems, test.warnings}, [][]string{problemTexts(d.Problems), problemTexts(d.Warnings)}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func problemTexts(list []Problem) []string {
	var out []string
	for _, p := range list {
		out = append(out, p.Path+" "+p.Message)
	}
	return out
}
