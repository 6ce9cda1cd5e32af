// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/zclconf/go-cty/cty"

	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

var formatPlain = diagnostic.Options{}

func files(pairs ...string) map[string][]byte {
	out := map[string][]byte{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = []byte(pairs[i+1])
	}
	return out
}

func TestParse(t *testing.T) {
	m, diags := Parse(files(
		"main.tf", `terraform {
  required_version = ">= 1.6"
  backend "s3" {
    bucket = "b"
  }
  encryption {
    key_provider "pbkdf2" "k" {}
  }
  required_providers {
    time = {
      source  = "hashicorp/time"
      version = "~> 0.12"
    }
  }
}
variable "size" {
  description = "How large."
  type        = number
}
variable "token" {
  sensitive = true
  nullable  = false
  default   = "x"
}
output "id" {
  value     = 1
  sensitive = true
}
`,
		"more.tofu.json", `{"variable": {"names": {"type": "list(string)", "default": [], "description": "JSON."}}}`,
		"size_override.tf", `variable "size" {
  default = 3
}
`,
		"shadowed.tf", `this is not HCL {{{`,
		"shadowed.tofu", `variable "from_tofu" {}`,
		"README.md", `not configuration`,
	))
	if len(diags) > 0 {
		t.Fatal(diags.Format(formatPlain))
	}
	want := &Module{
		Files: []string{"main.tf", "more.tofu.json", "shadowed.tofu", "size_override.tf"},
		Variables: map[string]*Variable{
			"size":      {Name: "size", Description: "How large.", Type: cty.Number, Written: "number", HasDefault: true, Default: json.RawMessage("3"), Nullable: true, Pos: Position{"main.tf", 16}},
			"token":     {Name: "token", Type: cty.DynamicPseudoType, HasDefault: true, Sensitive: true, Pos: Position{"main.tf", 20}},
			"names":     {Name: "names", Description: "JSON.", Type: cty.List(cty.String), Written: "list(string)", HasDefault: true, Default: json.RawMessage("[]"), Nullable: true, Pos: Position{"more.tofu.json", 1}},
			"from_tofu": {Name: "from_tofu", Type: cty.DynamicPseudoType, Nullable: true, Pos: Position{"shadowed.tofu", 1}},
		},
		Outputs:           map[string]*Output{"id": {Name: "id", Sensitive: true, Pos: Position{"main.tf", 25}}},
		Backend:           &Backend{Type: "s3", Pos: Position{"main.tf", 3}},
		Encrypted:         true,
		RequiredVersion:   []string{">= 1.6"},
		RequiredProviders: map[string]Provider{"time": {Source: "hashicorp/time", Version: "~> 0.12"}},
	}
	if diff := cmp.Diff(want, m, cmp.Comparer(func(a, b cty.Type) bool { return a.Equals(b) }), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

func TestParseDiagnoses(t *testing.T) {
	cases := map[string]struct {
		files map[string][]byte
		want  string
	}{
		"invalid HCL, with file, line and snippet": {
			files("main.tf", "variable \"a\" {\n  default = \"x\n}\n"),
			"Error: Invalid multi-line string\n\n  on main.tf line 2, in variable \"a\":\n   2:   default = \"x\n                    ^\n",
		},
		"an unclosed block": {
			files("main.tf", "variable \"a\" {\n"),
			"Error: Unclosed configuration block\n\n  on main.tf line 1",
		},
		"an unknown type": {
			files("main.tf", "variable \"a\" {\n  type = strin\n}\n"),
			"Error: Invalid type specification\n\n  on main.tf line 2, in variable \"a\":\n   2:   type = strin\n               ^^^^^\n",
		},
		"a name declared twice": {
			files("a.tf", "variable \"a\" {}\n", "b.tf", "variable \"a\" {}\n"),
			`The variable "a" was already declared at a.tf:1.`,
		},
		"an override of nothing":  {files("a.tf", "", "override.tf", "variable \"a\" {}\n"), "Missing base variable declaration to override"},
		"an invalid name":         {files("a.tf", "variable \"a b\" {}\n"), "Invalid variable name"},
		"no configuration at all": {files("README.md", ""), "No configuration files"},
		"broken JSON":             {files("a.tf.json", "{"), "on a.tf.json line 1"},
		"JSON nested too deeply":  {files("a.tf.json", strings.Repeat("[", 1<<20)), "nested too deeply"},
		"HCL nested too deeply":   {files("a.tf", "a = "+strings.Repeat("(", 1<<20)), "Configuration nested too deeply"},
		"endless operators":       {files("a.tf", "a = "+strings.Repeat("!", 1<<20)+"true"), "Configuration nested too deeply"},
		"endless conditions":      {files("a.tf", "a = "+strings.Repeat("true?1:", 1<<18)+"1"), "Configuration nested too deeply"},
		"endless template control": {
			files("a.tf", "a = \""+strings.Repeat("%{if true}", 1<<16)+"\""), "Configuration nested too deeply",
		},
		"a number that fills the memory": {
			files("a.tf", "variable \"a\" {\n  type = string\n  default = 1e999999999\n}\n"), "Number out of range",
		},
		"a file too large": {files("a.tf", strings.Repeat("#\n", 5<<20)), "File too large"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, diags := Parse(c.files)
			if text := diags.Format(formatPlain); !diags.HasErrors() || !strings.Contains(text, c.want) {
				t.Errorf("want %q in\n%s", c.want, text)
			}
		})
	}
}

// Comments and the lines of a text are not nested, however many there are.
func TestLongFilesAreNotDeep(t *testing.T) {
	for name, text := range map[string]string{
		"comments":                    strings.Repeat("# one of many lines\n", 40_000),
		"comments behind blocks":      strings.Repeat("locals {} # one of many blocks\n", 10_000),
		"comments behind values":      "locals {\n" + strings.Repeat("  a = 1 // one of many\n", 10_000) + "}\n",
		"comments inside of a list":   "locals {\n  a = [\n" + strings.Repeat("    # one of many\n", 40_000) + "  ]\n}\n",
		"a text of many lines":        "locals {\n  a = <<EOT\n" + strings.Repeat("one of many lines\n", 40_000) + "EOT\n}\n",
		"a string with many newlines": "locals {\n  a = \"" + strings.Repeat(`x\n`, 40_000) + "\"\n}\n",
	} {
		t.Run(name, func(t *testing.T) {
			if d := tooWild([]byte(text), "main.tf"); d != nil {
				t.Errorf("%s: %s", d.Subject, d.Summary)
			}
		})
	}
}

func TestOnlyLiteralsAreEvaluated(t *testing.T) {
	// Each list has a million elements if anybody evaluates it.
	million := "[for a in range(1000): [for b in range(1000): b]]"
	m, diags := Parse(files("a.tf", "variable \"a\" {\n description = "+million+"\n sensitive = 1 == 1\n type = object({ x = optional(any, "+million+") })\n default = "+million+"\n}\n"))
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	v := m.Variables["a"]
	if !v.Sensitive || !v.HasDefault || v.Description != "" || v.Type != cty.DynamicPseudoType {
		t.Errorf("%+v", v)
	}
}

func TestReadDoesNotFollowLinksOutOfTheTree(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret.tf")
	if err := os.WriteFile(outside, []byte(`variable "stolen" {}`), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "sub", "main.tf")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, dir := range []string{"sub", "nowhere"} {
		if got, err := ReadRequirements(root.FS(), dir, ReadOptions{}); err == nil {
			t.Errorf("%s: read %+v", dir, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("main.tf", []byte("variable \"a\" {\n  type = object({ a = optional(list(string), [\"x\"]) })\n  default = { a = null }\n}\noutput \"o\" { value = \"${var.a}\" }"), []byte(`{"a":["b"]}`))
	f.Add("main.tf.json", []byte(`{"variable":{"a":{"type":"map(number)","default":{"x":1}}},"terraform":{"backend":{"s3":{}},"required_providers":{"a":{"source":"x/y"}}}}`), []byte(`"{\"x\":1}"`))
	f.Add("x_override.tofu", []byte("terraform {\n cloud {}\n}\nvariable \"a\" { default = <<E\n%{ for x in [1] }${x}%{ endfor }\nE\n}"), []byte(`null`))
	f.Fuzz(func(t *testing.T, name string, src, value []byte) {
		m, diags := Parse(map[string][]byte{name: src, "main.tf": []byte("variable \"z\" {}\n")})
		_ = diags.Format(formatPlain)
		for _, d := range diags {
			if strings.Contains(d.Detail, "bug in Yuba") {
				t.Fatal(d.Detail)
			}
		}
		values := map[string]json.RawMessage{}
		for _, name := range m.VariableNames() {
			values[name] = value
		}
		_, problems, _ := CheckVariables(m, values)
		_ = problems.Error()
	})
}
