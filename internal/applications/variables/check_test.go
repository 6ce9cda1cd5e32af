// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package variables

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// oneField are a field "f" of a schema, the type of the variable "f", and what is found.
var oneField = map[string]struct{ field, declaration, want string }{
	"a string":                           {`{"type":"string"}`, `type = string`, ``},
	"anything is allowed":                {`{"type":"object","properties":{"a":{"type":"string"}}}`, `type = any`, ``},
	"no type":                            {`{"type":"integer"}`, ``, ``},
	"a number is also a string":          {`{"type":"number"}`, `type = string`, ``},
	"a boolean is also a string":         {`{"type":"boolean"}`, `type = string`, ``},
	"a string is not a number":           {`{"type":"string"}`, `type = number`, `spec.f: its schema has a string, and the variable "f" wants number; change the type of the field or of the variable (main.tf:1)`},
	"a string of numbers is one":         {`{"type":"string","enum":["1","2"]}`, `type = number`, ``},
	"a boolean is not a number":          {`{"type":"boolean"}`, `type = number`, `spec.f: its schema has a boolean, and the variable "f" wants number; change the type of the field or of the variable (main.tf:1)`},
	"a quantity for a string":            {`{"x-kubernetes-int-or-string":true}`, `type = string`, ``},
	"a quantity for a number":            {`{"x-kubernetes-int-or-string":true}`, `type = number`, `spec.f: a text that is not a number fails in the run, because the variable "f" is a number; give the field the type integer (main.tf:1)`},
	"a list":                             {`{"type":"array","items":{"type":"string"}}`, `type = set(string)`, ``},
	"a list of others":                   {`{"type":"array","items":{"type":"string"}}`, `type = list(bool)`, `spec.f[*]: its schema has a string, and the variable "f" wants bool; change the type of the field or of the variable (main.tf:1)`},
	"a list for an object":               {`{"type":"array","items":{"type":"string"}}`, `type = object({ a = string, b = number })`, `spec.f: its schema has a list, and the variable "f" wants an object with the attributes a, b; change the type of the field or of the variable (main.tf:1)`},
	"a tuple of the same length":         {`{"type":"array","minItems":1,"maxItems":1,"items":{"type":"string"}}`, `type = tuple([string])`, ``},
	"a tuple":                            {`{"type":"array","items":{"type":"string"}}`, `type = tuple([string])`, `spec.f: the variable "f" wants exactly 1 elements; set minItems and maxItems, or make the variable a list (main.tf:1)`},
	"a map":                              {`{"type":"object","additionalProperties":{"type":"integer"}}`, `type = map(number)`, ``},
	"fields for a map":                   {`{"type":"object","properties":{"a":{"type":"string"}}}`, `type = map(string)`, ``},
	"a map for an object":                {`{"type":"object","additionalProperties":{"type":"integer"}}`, `type = object({ a = number })`, `spec.f: the variable "f" wants the attribute "a", and the keys of a map are not known; declare it as a field of the object, or make the variable a map (main.tf:1)`},
	"an object with the same attributes": {`{"type":"object","required":["aB"],"properties":{"aB":{"type":"string"},"c":{"type":"integer","default":1}}}`, `type = object({ a_b = string, c = number, d = optional(string) })`, ``},
	"an attribute may be missing":        {`{"type":"object","properties":{"aB":{"type":"string"}}}`, `type = object({ a_b = string })`, `spec.f.aB: instances may leave the field out, and the variable "f" wants the attribute "a_b"; make the field required or give it a default, or make the attribute optional() (main.tf:1)`},
	"an optional attribute":              {`{"type":"object","properties":{"aB":{"type":"string"}}}`, `type = object({ a_b = optional(string) })`, ``},
	"no field for an attribute":          {`{"type":"object","properties":{"a":{"type":"string","default":""}}}`, `type = object({ a = string, b = string })`, `spec.f: the variable "f" wants the attribute "b", and no field becomes it; add a field to the schema, or make the attribute optional() (main.tf:1)`},
	"no attribute for a field":           {`{"type":"object","properties":{"a":{"type":"string","default":""},"bC":{"type":"string"}}}`, `type = object({ a = string })`, `spec.f.bC: the object of the variable "f" has no attribute "b_c", so the value would be lost; write another name in overrides: {"f.bC": NAME}, or add it to the variable; it has a (main.tf:1)`},
	"anything is left to the run":        {`{"type":"object"}`, `type = object({ a = string })`, ``},
	"deep inside": {`{"type":"array","items":{"type":"object","additionalProperties":{"type":"object","required":["n"],"properties":{"n":{"type":"boolean"}}}}}`, `type = list(map(object({ n = number })))`,
		`spec.f[*][*].n: its schema has a boolean, and the variable "f" wants number; change the type of the field or of the variable (main.tf:1)`},
}

func TestOneField(t *testing.T) {
	for name, c := range oneField {
		t.Run(name, func(t *testing.T) {
			table, list := New(parsed(t, `{"type":"object","required":["f"],"properties":{"f":`+c.field+`}}`), Mapping{})
			if table == nil {
				t.Fatal(list)
			}
			if got := table.Check(parse(t, "variable \"f\" {\n"+c.declaration+"\n}"), Given{}); got.String() != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

func parse(t testing.TB, text string) *module.Module {
	t.Helper()
	m, diags := module.Parse(map[string][]byte{"main.tf": []byte(text)})
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	return m
}

const network = `variable "cidr_block" { type = string }
variable "region" { type = string }
variable "name" { type = string }
variable "zones" {
  type    = list(string)
  default = []
}
variable "tags" { type = map(string) }
`

func TestWholeModules(t *testing.T) {
	for name, c := range map[string]struct {
		text, program string
		given         Given
		want          []string
	}{
		"everything fits": {
			`{"type":"object","required":["cidrBlock"],"properties":{"cidrBlock":{"type":"string"},"zones":{"type":"array","items":{"type":"string"}},"tags":{"type":"object","default":{},"additionalProperties":{"type":"string"}}}}`,
			network, Given{Variables: map[string]json.RawMessage{"region": json.RawMessage(`"eu"`)}, Names: []string{"name"}}, nil,
		},
		"the module lost a variable": {
			`{"type":"object","required":["cidrBlock","vpcID"],"properties":{"cidrBlock":{"type":"string"},"vpcID":{"type":"string"}}}`,
			`variable "cidrblock" { type = string }`, Given{Names: []string{"cidrblock"}},
			[]string{`spec.cidrBlock: the module does not declare the variable "cidr_block"; it declares cidrblock (main.tf:1): if that is meant, write that in overrides`,
				`spec.vpcID: the module does not declare the variable "vpc_id"; it declares cidrblock`},
		},
		"values are missing": {
			`{"type":"object","properties":{"cidrBlock":{"type":"string"},"tags":{"type":"object","nullable":true,"default":{},"additionalProperties":{"type":"string"}}}}`,
			network, Given{Env: []string{"TF_VAR_region"}},
			[]string{`spec.cidrBlock: instances may leave the field out, and the variable "cidr_block" is required; make the field required or give it a default, or give the variable a default (main.tf:1)`,
				`spec.tags: instances may leave the field out, and the variable "tags" is required; make the field required or give it a default, or give the variable a default (main.tf:8)`,
				`the module requires the variable "name", and nothing sets it; add a field to the schema, a value to the template, or a default to the variable (main.tf:3)`},
		},
		"the template has its mistakes, too": {
			`{"type":"object","required":["name"],"properties":{"name":{"type":"string"}}}`,
			network, Given{Open: true, Names: []string{"name"}, Variables: map[string]json.RawMessage{"zones": json.RawMessage(`"s3cr3t"`), "zone": json.RawMessage(`1`)}},
			[]string{`spec.name: the variable "name" is also set by the definition's template; write another name in overrides: {"name": NAME}, or remove it from the template`,
				`template: variable zones: list of string required, but have string (declared type: list(string)) (main.tf:4)`,
				`template: the module does not declare the variable "zone"; it declares zones (main.tf:4): if that is meant, write that in the template`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			table, list := New(parsed(t, c.text), Mapping{})
			if table == nil {
				t.Fatal(list)
			}
			var got []string
			for _, f := range table.Check(parse(t, c.program), c.given) {
				got = append(got, f.String())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestASpecAsOneVariable(t *testing.T) {
	table, list := New(parsed(t, bucket), Mapping{Nesting: Values})
	if table == nil {
		t.Fatal(list)
	}
	if got := table.Check(parse(t, `variable "values" { type = any }`), Given{}); got != nil {
		t.Error(got)
	}
	if got := table.Check(parse(t, `variable "values" { type = map(string) }`), Given{}); got.Err() == nil {
		t.Error("objects are not strings")
	}
}
