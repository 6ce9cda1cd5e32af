// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"slices"
	"strings"
	"testing"
)

func TestDefaultsThatAreConstants(t *testing.T) {
	for written, want := range map[string]string{
		`1`: `1`, `-1`: `-1`, `"a"`: `"a"`, `null`: `null`, `true`: `true`, `[1, "b"]`: `[1,"b"]`,
		`{ a = 1, "b" = [] }`: `{"a":1,"b":[]}`, `(2)`: `2`, "<<EOT\na\nb\nEOT\n": `"a\nb\n"`,
		`"a${1}"`: `"a1"`, `"a${v}"`: ``, `var.x`: ``, `[for i in [1] : i]`: ``, `1 + 1`: ``, `upper("a")`: ``, `{ (var.x) = 1 }`: ``, `"${"a"}"`: ``,
		`"` + strings.Repeat("a", maxConstant) + `"`: ``,
	} {
		m, _ := Parse(files("main.tf", "variable \"v\" {\n  default = "+written+"\n}\n"))
		if v := m.Variables["v"]; v == nil || string(v.Default) != want || !v.HasDefault {
			t.Errorf("%s: %+v, want %s", written, v, want)
		}
	}
	m, _ := Parse(files("main.tf.json", `{"variable": {"a": {"default": {"x": ["y"]}}, "b": {"default": "${1 + 1}"}, "c": {"default": "s", "sensitive": true}}}`))
	if a, b, c := m.Variables["a"], m.Variables["b"], m.Variables["c"]; string(a.Default) != `{"x":["y"]}` || b.Default != nil || c.Default != nil {
		t.Errorf("%s, %s, %s", a.Default, b.Default, c.Default)
	}
}

func TestDeclarationsOfPublishedModules(t *testing.T) {
	m, diags := Parse(files("main.tf", `
terraform {
  required_providers {
    aws = {
      source                = "hashicorp/aws"
      configuration_aliases = [aws.west, aws.east]
    }
  }
}
variable "o" {
  type = object({
    a = string # why
    b = optional(number, 3)
  })
}
output "o" {
  value     = 1
  ephemeral = true
}
`))
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	if got := m.RequiredProviders["aws"].Aliases; !slices.Equal(got, []string{"aws.east", "aws.west"}) {
		t.Error(got)
	}
	if got := m.Variables["o"].Written; got != "object({\n    a = string # why\n    b = optional(number, 3)\n  })" {
		t.Errorf("%q", got)
	}
	if !m.Outputs["o"].Ephemeral {
		t.Error("not ephemeral")
	}
}

func TestParsePlaced(t *testing.T) {
	_, placed, _ := ParsePlaced(files("main.tf", `
provider "aws" {}
module "a" { source = "./a" }
module "b" {
  source  = "acme/b/aws"
  version = "~> 1.2"
}
module "c" { source = var.x }
`, "x_override.tf", `module "b" { version = "1.3.0" }`, "broken.tf", `{{{`))
	want := []PlacedCall{
		{Name: "a", Call: Call{Source: "./a"}, Pos: Position{"main.tf", 3}},
		{Name: "b", Call: Call{Source: "acme/b/aws", Version: "1.3.0"}, Pos: Position{"main.tf", 4}},
		{Name: "c", Computed: true, Pos: Position{"main.tf", 8}},
	}
	if !slices.Equal(placed.Calls, want) || placed.Provider == nil || placed.Provider.Line != 2 {
		t.Errorf("%+v", placed)
	}
}
