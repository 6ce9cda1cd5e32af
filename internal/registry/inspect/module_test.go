// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"encoding/json"
	"testing"

	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// A stored interface declares what the module's files declare, as far as callers see it.
func TestAnInterfaceIsAModule(t *testing.T) {
	m, diagnostics := module.Parse(map[string][]byte{"main.tf": []byte(`
variable "rules" { type = map(object({ days = number, kind = optional(string, "a"), more = optional(list(string)) })) }
variable "name" {
  default   = "x"
  sensitive = true
}
output "password" {
  value     = var.name
  sensitive = true
}
`)})
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	stored := Interface{}
	for _, name := range m.VariableNames() {
		stored.Inputs = append(stored.Inputs, input(m.Variables[name], func(p module.Position) module.Position { return p }))
	}
	stored.Outputs = []Output{{Name: "password", Sensitive: true, Pos: m.Outputs["password"].Pos}}
	text, err := json.Marshal(stored)
	if err != nil {
		t.Fatal(err)
	}
	var read Interface
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	got := read.Module()
	for _, name := range m.VariableNames() {
		was, is := m.Variables[name], got.Variables[name]
		if is == nil || !is.Type.Equals(was.Type) || is.Required() != was.Required() || is.Sensitive != was.Sensitive || is.Pos != was.Pos {
			t.Errorf("%s was %+v, and is %+v", name, was, is)
		}
	}
	if o := got.Outputs["password"]; o == nil || !o.Sensitive || o.Pos != m.Outputs["password"].Pos {
		t.Errorf("the output is %+v", o)
	}
	read.Inputs[0].Cty = json.RawMessage(`"of a later version"`)
	if v := read.Module().Variables[read.Inputs[0].Name]; v.TypeString() != "any" {
		t.Errorf("a type of a later version is %s", v.TypeString())
	}
}
