// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package refactorfile

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/tofu/state/moves"
)

const own = `
# The database gets a stack of its own.
move {
  stack    = "monolith"
  from     = module.db["a b"]
  to_stack = "db"
  to       = module.database
}
move {
  stack    = "monolith"
  to_stack = "db"
  from     = [aws_kms_key.db, "data.aws_x.y[0]"]
}
remove {
  stack = "monolith"
  from  = aws_old.x
}
replace_provider {
  stack = "db"
  from  = "registry.opentofu.org/acme/x"
  to    = "registry.opentofu.org/other/x"
}
import {
  stack = "db"
  to    = aws_vpc.main
  id    = "vpc-1"
}
expect {
  stack   = "db"
  update  = [aws_kms_key.db]
  outputs = ["arn"]
}
`

func TestYubasOwnBlocks(t *testing.T) {
	m, err := Parse("dir/refactor.hcl", []byte(own))
	if err != nil {
		t.Fatal(err)
	}
	want := &File{
		Steps: []moves.Step{
			{Verb: moves.Move, State: "monolith", From: `module.db["a b"]`, ToState: "db", To: "module.database", Place: "refactor.hcl:3"},
			{Verb: moves.Move, State: "monolith", From: "aws_kms_key.db", ToState: "db", To: "aws_kms_key.db", Place: "refactor.hcl:9"},
			{Verb: moves.Move, State: "monolith", From: "data.aws_x.y[0]", ToState: "db", To: "data.aws_x.y[0]", Place: "refactor.hcl:9"},
			{Verb: moves.Remove, State: "monolith", From: "aws_old.x", Place: "refactor.hcl:14"},
			{Verb: moves.ReplaceProvider, State: "db", From: "registry.opentofu.org/acme/x", To: "registry.opentofu.org/other/x", Place: "refactor.hcl:18"},
		},
		Imports:  []Import{{"db", "aws_vpc.main", "vpc-1", "refactor.hcl:23"}},
		Expected: map[string]*Expected{"db": {Update: []string{"aws_kms_key.db"}, Outputs: []string{"arn"}}}, Workspaces: map[string]string{},
	}
	if !reflect.DeepEqual(m, want) {
		t.Errorf("got  %+v\nwant %+v", m, want)
	}
}

func TestTfmigrate(t *testing.T) {
	m, err := Parse("x.hcl", []byte(`
migration "state" "one" {
  dir       = "./live/a/"
  workspace = "prod"
  actions = [
    "mv aws_x.a 'aws_x.b[\"k v\"]'",
    "rm aws_x.c aws_x.d",
    "import aws_x.e id-1",
    "replace-provider registry.terraform.io/-/null registry.terraform.io/hashicorp/null",
  ]
}
migration "multi_state" "two" {
  from_dir = "live/a"
  to_dir   = "live/b"
  actions  = ["mv module.m module.n"]
}
`))
	if err != nil {
		t.Fatal(err)
	}
	if m.Workspaces["dir:live/a"] != "prod" || fmt.Sprint(m.References()) != "[dir:live/a dir:live/b]" {
		t.Errorf("%+v", m)
	}
	if err := m.Resolve(func(reference string) (string, error) {
		dir, ok := Dir(reference)
		if !ok {
			t.Errorf("%s names no directory", reference)
		}
		return strings.ReplaceAll(dir, "/", "-"), nil
	}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range m.Steps {
		got = append(got, strings.Join([]string{string(s.Verb), s.State, s.From, s.ToState, s.To}, "|"))
	}
	want := []string{`move|live-a|aws_x.a||aws_x.b["k v"]`, "remove|live-a|aws_x.c||", "remove|live-a|aws_x.d||",
		"replace-provider|live-a|registry.terraform.io/-/null||registry.terraform.io/hashicorp/null", "move|live-a|module.m|live-b|module.n"}
	if !reflect.DeepEqual(got, want) || m.Imports[0] != (Import{"live-a", "aws_x.e", "id-1", "x.hcl:2"}) {
		t.Errorf("got %q, %+v", got, m.Imports)
	}
}

func TestFilesThatAreWrong(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "it changes nothing",
		"move {":                                 "line 1",
		"a = 1":                                  "outside of all blocks",
		"mvoe {\n}":                              `x.hcl:1: the block "mvoe" is unknown; did you mean move?`,
		"move {\n stack = \"a\"\n}":              `lacks the attribute "from"`,
		"move {\n stack = \"a\"\n from = x.a\n}": "needs to, to_stack",
		"move {\n stack = \"a\"\n from = x.a\n too = x.b\n}":                                              `x.hcl:4: the block move has no attribute "too"`,
		"move {\n stack = \"a\"\n from = [x.a, x.b]\n to = x.c\n}":                                        "several addresses keep their names",
		"remove {\n stack = upper(\"a\")\n from = x.a\n}":                                                 "without variables and functions",
		"remove {\n stack = \"a\"\n from = \"${x.a}\"\n}":                                                 "without variables and functions",
		"expect {\n stack = \"a\"\n update = [\"x\"]\n}":                                                  `the address "x"`,
		"expect {\n stack = \"a\"\n}\nexpect {\n stack = \"a\"\n}":                                        "expected twice",
		"migration \"mock\" \"x\" {\n actions = [\"mv a b\"]\n}":                                          "Yuba reads state and multi_state",
		"migration \"state\" \"x\" {\n force = true\n actions = [\"mv a b\"]\n}":                          "force is not supported",
		"migration \"state\" \"x\" {\n to_dir = \"b\"\n actions = [\"mv a b\"]\n}":                        `has no attribute "to_dir"`,
		"migration \"state\" \"x\" {\n actions = [\"xmv a.* b.$1\"]\n}":                                   "wildcards are not supported",
		"migration \"state\" \"x\" {\n actions = [\"mv 'a b\"]\n}":                                        "a quote is not closed",
		"migration \"state\" \"x\" {\n actions = [\"mv a\"]\n}":                                           "mv needs 2 arguments, not 1",
		"migration \"state\" \"x\" {\n actions = [\"taint a\"]\n}":                                        `"taint" is not mv`,
		"migration \"multi_state\" \"x\" {\n from_dir = \"a\"\n actions = [\"mv a b\"]\n}":                "needs from_dir and to_dir",
		"migration \"multi_state\" \"x\" {\n from_dir = \"a\"\n to_dir = \"b\"\n actions = [\"rm a\"]\n}": "there is only mv",
	} {
		if _, err := Parse("x.hcl", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

// TestListsWhereOneTextIsExpected: the first of a list would be taken for all of it.
func TestListsWhereOneTextIsExpected(t *testing.T) {
	for text, want := range map[string]string{
		"move {\n stack = [\"a\", \"b\"]\n from = x.a\n to = x.b\n}":                         "x.hcl:2: stack is one text, not a list: write one block for each",
		"move {\n stack = \"a\"\n from = x.a\n to = [x.b, x.c]\n}":                           "x.hcl:4: to is one text",
		"move {\n stack = \"a\"\n from = x.a\n to = [\n x.b ]\n}":                            "x.hcl:4: to is one text",
		"move {\n stack = \"a\"\n from = x.a\n to_stack = [\"b\", \"c\"]\n}":                 "x.hcl:4: to_stack is one text",
		"move {\n stack = \"a\"\n from = x.a\n to_stack = \"b\"\n to = []\n}":                "x.hcl:5: to is one text",
		"remove {\n stack = [\"a\"]\n from = x.a\n}":                                         "x.hcl:2: stack is one text",
		"replace_provider {\n stack = \"a\"\n from = [\"p\", \"q\"]\n to = \"r\"\n}":         "x.hcl:3: from is one text",
		"replace_provider {\n stack = \"a\"\n from = \"p\"\n to = [\"q\", \"r\"]\n}":         "x.hcl:4: to is one text",
		"import {\n stack = \"a\"\n to = [x.a, x.b]\n id = \"i\"\n}":                         "x.hcl:3: to is one text",
		"import {\n stack = \"a\"\n to = x.a\n id = [\"i\", \"j\"]\n}":                       "x.hcl:4: id is one text",
		"expect {\n stack = [\"a\", \"b\"]\n create = [x.a]\n}":                              "x.hcl:2: stack is one text",
		"migration \"state\" \"x\" {\n dir = [\"a\", \"b\"]\n actions = [\"mv x.a x.b\"]\n}": "x.hcl:2: dir is one text",
	} {
		if _, err := Parse("x.hcl", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(own))
	f.Add([]byte("migration \"state\" \"x\" {\n actions = [\"mv 'a b\"]\n}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := Parse("x.hcl", text)
		if err == nil && len(m.Steps)+len(m.Imports) == 0 {
			t.Error("an empty file is accepted")
		}
	})
}
