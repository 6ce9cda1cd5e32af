// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package discover

import (
	"maps"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// texts is a tree of texts.
func texts(files map[string]string) Tree {
	t := Tree{Sums: map[string]string{}, Config: func(dir string) map[string][]byte {
		found := map[string][]byte{}
		for name, text := range files {
			if at := strings.TrimPrefix(path.Dir(name), "."); at == strings.TrimPrefix(dir, ".") {
				found[path.Base(name)] = []byte(text)
			}
		}
		return found
	}}
	for name, text := range files {
		t.Sums[name] = text
	}
	return t
}

func TestAMergeHasOnlyWhatTheHeadChanges(t *testing.T) {
	base := texts(map[string]string{"a/main.tf": "# new in the base", "b/main.tf": "# b", "b/gone.tf": "# gone", "c/main.tf": "# c"})
	head := texts(map[string]string{"a/main.tf": "# old", "b/main.tf": "# changed", "b/more.tf": "# more", "c/main.tf": "# c"})
	merged := Merged(base, head, []string{"b/main.tf", "b/gone.tf", "b/more.tf", "README.md"})
	if diff := cmp.Diff(map[string]string{"a/main.tf": "# new in the base", "b/main.tf": "# changed", "b/more.tf": "# more", "c/main.tf": "# c"}, merged.Sums); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string][]byte{"main.tf": []byte("# changed"), "more.tf": []byte("# more")}, merged.Config("b")); diff != "" {
		t.Error(diff)
	}
	got := Stacks(base, merged, []Stack{{Name: "x/a", Path: "a"}, {Name: "x/b", Path: "./b"}, {Name: "x/c", Path: "c"}})
	if len(got) != 1 || got[0].Name != "x/b" {
		t.Errorf("found are %+v", got)
	}
}

func TestASubmoduleCountsWithAllItsFiles(t *testing.T) {
	base := texts(map[string]string{"s/main.tf": `module "m" { source = "../vendor/net" }`, "vendor/net/m.tf": "# 1", "vendor/net/gone.tf": "", "vendor/netting.tf": "", "file": ""})
	head := texts(map[string]string{"s/main.tf": `module "m" { source = "../vendor/net" }`, "vendor/net/m.tf": "# 2", "vendor/netting.tf": "# 2", "file/now/a-directory": ""})
	changed := Below([]string{"vendor/net", "file", "README.md"}, base, head)
	if diff := cmp.Diff([]string{"vendor/net", "file", "README.md", "vendor/net/gone.tf", "vendor/net/m.tf", "file/now/a-directory"}, changed); diff != "" {
		t.Error(diff)
	}
	if got := Stacks(base, Merged(base, head, changed), []Stack{{Name: "x/s", Path: "s"}}); len(got) != 1 {
		t.Errorf("found are %+v", got)
	}
}

func TestFilesOfValuesCount(t *testing.T) {
	before := texts(map[string]string{"a/main.tf": "", "values/a.tfvars": "x = 1"})
	after := texts(map[string]string{"a/main.tf": "", "values/a.tfvars": "x = 2"})
	if got := Stacks(before, after, []Stack{{Name: "x/a", Path: "a"}, {Name: "x/b", Path: "a", Also: []string{"./values/a.tfvars"}}}); len(got) != 1 || got[0].Name != "x/b" {
		t.Errorf("found are %+v", got)
	}
}

func TestPrograms(t *testing.T) {
	for sentence, c := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"none":        {map[string]string{"s/main.tf": `resource "terraform_data" "a" {}`}, nil},
		"external":    {map[string]string{"s/main.tf": `data "external" "ip" { program = ["sh"] }`}, []string{"data.external.ip at s/main.tf:1"}},
		"local-exec":  {map[string]string{"s/main.tf": "resource \"null_resource\" \"a\" {\n  provisioner \"local-exec\" {\n    command = \"id\"\n  }\n}"}, []string{"provisioner local-exec of null_resource.a at s/main.tf:1"}},
		"in a module": {map[string]string{"s/main.tf": `module "m" { source = "../m" }`, "m/m.tf": `data "external" "x" {}`}, []string{"data.external.x at m/m.tf:1"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Programs(texts(c.files), Stack{Path: "s"})); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got := Programs(texts(map[string]string{"s/main.tf": `data "external" {{{`}), Stack{Path: "s"}); len(got) == 0 {
		t.Error("code that cannot be read counts as harmless")
	}
}

func TestWhatATreeDoesNotShowIsNotHarmless(t *testing.T) {
	const plain = `resource "terraform_data" "a" {}`
	for sentence, c := range map[string]struct {
		files map[string]string
		// links are in the tree without content.
		links []string
		path  string
		held  bool
	}{
		"plain code":                          {map[string]string{"s/main.tf": plain}, nil, "s", false},
		"a template":                          {map[string]string{"s/main.tf": plain, "s/main.tf.tpl": `data "external" "x" {}`}, nil, "./s/", true},
		"a template in the root":              {map[string]string{"main.tf": plain, "main.tf.tpl": ""}, nil, "", true},
		"a link to a template":                {map[string]string{"s/main.tf": plain}, []string{"s/main.tf.tpl"}, "s", true},
		"a template of another stack":         {map[string]string{"s/main.tf": plain, "other/main.tf.tpl": ""}, nil, "s", false},
		"a link to a text":                    {map[string]string{"s/main.tf": plain, "s/payload.txt": `data "external" "x" {}`}, []string{"s/evil.tf"}, "s", true},
		"a link in the root":                  {map[string]string{"main.tf": plain}, []string{"evil.tf.json"}, ".", true},
		"a link in a module":                  {map[string]string{"s/main.tf": `module "m" { source = "../m" }`, "m/m.tf": plain}, []string{"m/evil.tofu"}, "s", true},
		"a link elsewhere":                    {map[string]string{"s/main.tf": plain}, []string{"other/evil.tf"}, "s", false},
		"a link that is not configuration":    {map[string]string{"s/main.tf": plain}, []string{"s/README.md"}, "s", false},
		"a directory that is a link":          {map[string]string{"s/main.tf": `module "m" { source = "./m" }`, "other/m.tf": plain}, []string{"s/m"}, "s", true},
		"a root module that is behind a link": {map[string]string{"other/main.tf": plain}, []string{"s"}, "s", true},
	} {
		t.Run(sentence, func(t *testing.T) {
			tree := tree(c.files)
			tree.Sums = maps.Clone(tree.Sums)
			for _, name := range c.links {
				tree.Sums[name] = "link payload.txt"
			}
			if got := Programs(tree, Stack{Path: c.path}); (len(got) > 0) != c.held {
				t.Errorf("it is held: %v, for %q", !c.held, got)
			}
		})
	}
}

func TestStrangers(t *testing.T) {
	before := texts(map[string]string{"main.tf": "module \"a\" {\n source = \"acme/vpc/aws\"\n version = \"1.0.0\"\n}\nmodule \"b\" { source = \"./b\" }\n", "b/b.tf": ""})
	after := texts(map[string]string{"main.tf": "module \"a\" {\n source = \"acme/vpc/aws\"\n version = \"1.0.0\"\n}\nmodule \"b\" { source = \"./c\" }\nmodule \"d\" { source = \"git::https://evil.example.com/x\" }\n" +
		"terraform {\n required_providers {\n p = { source = \"evil/p\" }\n }\n}\n", "c/c.tf": ""})
	if got := Strangers(texts(nil), texts(map[string]string{"main.tf": `resource "terraform_data" "a" {}`}), Stack{}); len(got) > 0 {
		t.Errorf("the tool's own provider is a stranger: %q", got)
	}
	if diff := cmp.Diff([]string{"module git::https://evil.example.com/x ", "provider evil/p"}, Strangers(before, after, Stack{})); diff != "" {
		t.Error(diff)
	}
}
