// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"testing"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// FuzzHCL: any text of a row is the same text in a program.
func FuzzHCL(f *testing.F) {
	for _, seed := range []string{"", "acme", `x" } resource "terraform_data" "x" {`, "${file(\"/etc/passwd\")}", "$${a}", "$$${a}", "%{ if true }", "%%{", "a\nb\t\r", "\b\f\x00", `\`, `\"`, "ä\u2028", "$", "${", "<>&"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if !utf8.ValidString(in) {
			return
		}
		text, err := dialect(nil).Text("x", "a = {{ hcl .x }}\n", map[string]any{"x": in})
		if err != nil {
			t.Fatal(err)
		}
		file, diags := hclsyntax.ParseConfig([]byte(text), "main.tf", hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatalf("%q is written %q: %v", in, text, diags)
		}
		attributes, diags := file.Body.JustAttributes()
		if diags.HasErrors() || len(attributes) != 1 {
			t.Fatalf("%q is written %q: %v", in, text, diags)
		}
		value, diags := attributes["a"].Expr.Value(nil)
		// HCL normalizes texts to Unicode's normal form.
		if diags.HasErrors() || !value.RawEquals(cty.StringVal(in)) {
			t.Errorf("%q is written %q, which is %#v, %v", in, text, value, diags)
		}
	})
}
