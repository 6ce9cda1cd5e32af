// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package discover

import (
	"maps"
	"path"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// tree is a tree with these files, whose sums are their content.
func tree(files map[string]string) Tree {
	return Tree{Sums: files, Config: func(dir string) map[string][]byte {
		out := map[string][]byte{}
		for name, text := range files {
			if path.Dir(name) == path.Clean("./"+dir) && module.IsConfigFile(path.Base(name)) {
				out[path.Base(name)] = []byte(text)
			}
		}
		return out
	}}
}

var base = map[string]string{
	"README.md":                "# Infra",
	"prod/network/main.tf":     `module "vpc" { source = "../../modules/vpc" }`,
	"prod/dns/main.tf":         `resource "terraform_data" "a" { input = file("${path.module}/zones.txt") }`,
	"prod/dns/zones.txt":       "example.com",
	"prod/app/main.tf":         `module "names" { source = "../../shared" }`,
	"prod/any/main.tf":         `variable "p" {}` + "\n" + `resource "terraform_data" "a" { input = file("../../${var.p}/x") }`,
	"modules/vpc/main.tf":      `module "subnet" { source = "../subnet" }`,
	"modules/subnet/main.tf":   `# subnet`,
	"modules/unused/main.tf":   `# unused`,
	"shared/names.txt":         "a b",
	"shared/main.tf":           `# names`,
	"prod/network/docs/doc.md": "# Network",
}

var stacks = []Stack{{Name: "prod/network", Path: "./prod/network"}, {Name: "prod/dns", Path: "prod/dns/"}, {Name: "prod/app", Path: "/prod/app"}, {Name: "prod/any", Path: "prod/any"}}

func TestSum(t *testing.T) {
	changed := func(name, content string) Tree {
		files := maps.Clone(base)
		files[name] = content
		return tree(files)
	}
	network := Stack{Name: "prod/network", Path: "./prod/network", Also: []string{"prod/values.tfvars"}}
	before := Sum(tree(base), network)
	for sentence, c := range map[string]struct {
		after Tree
		stack Stack
		same  bool
	}{
		"nothing":                      {tree(base), network, true},
		"a file that it does not read": {changed("prod/dns/main.tf", "# other"), network, true},
		"a file":                       {changed("prod/network/main.tf", base["prod/network/main.tf"]+"\n"), network, false},
		"a new file":                   {changed("prod/network/new.tf", ""), network, false},
		"a module of a module":         {changed("modules/subnet/main.tf", "# other"), network, false},
		"values":                       {changed("prod/values.tfvars", "a = 1"), network, false},
		"another directory":            {tree(base), Stack{Name: "prod/network", Path: "modules/vpc"}, false},
		"a stack that may read all":    {tree(base), Stack{Name: "prod/network", Path: "prod/any"}, false},
	} {
		if same := Sum(c.after, c.stack) == before; same != c.same {
			t.Errorf("%s: the sum is the same: %v", sentence, same)
		}
	}
}

func TestStacks(t *testing.T) {
	for name, test := range map[string]struct {
		change map[string]string
		remove []string
		want   []string
	}{
		"nothing":                           {},
		"its own file":                      {change: map[string]string{"prod/dns/zones.txt": "example.org"}, want: []string{"prod/any", "prod/dns"}},
		"a module of a module":              {change: map[string]string{"modules/subnet/main.tf": "# other"}, want: []string{"prod/any", "prod/network"}},
		"a file that no stack reads":        {change: map[string]string{"README.md": "# Other"}, want: []string{"prod/any"}},
		"a module that nobody calls":        {change: map[string]string{"modules/unused/main.tf": "# x"}, want: []string{"prod/any"}},
		"a file elsewhere":                  {change: map[string]string{"shared/names.txt": "c"}, want: []string{"prod/any", "prod/app"}},
		"a new file of a module":            {change: map[string]string{"modules/vpc/more.tf": "# more"}, want: []string{"prod/any", "prod/network"}},
		"the last call of a module is gone": {change: map[string]string{"prod/network/main.tf": "# none"}, remove: []string{"modules/vpc/main.tf"}, want: []string{"prod/any", "prod/network"}},
		"the root module is gone":           {remove: []string{"prod/dns/main.tf", "prod/dns/zones.txt"}, want: []string{"prod/any", "prod/dns (missing)"}},
	} {
		after := maps.Clone(base)
		maps.Copy(after, test.change)
		for _, name := range test.remove {
			delete(after, name)
		}
		var got []string
		for _, a := range Stacks(tree(base), tree(after), stacks) {
			shown := a.Name
			if a.Missing {
				shown += " (missing)"
			}
			got = append(got, shown)
			if len(a.Files) == 0 || (a.Whole != "") != (a.Name == "prod/any") {
				t.Errorf("%s: %+v", name, a)
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestRenderedFilesCallModules(t *testing.T) {
	after := maps.Clone(base)
	after["modules/unused/main.tf"] = "# used"
	inline := []Stack{{Name: "prod/inline", Path: "prod/dns", Rendered: map[string][]byte{"main.tf": []byte(`module "u" { source = "../../modules/unused" }`)}}}
	if got := Stacks(tree(base), tree(after), inline); len(got) != 1 || got[0].Files[0] != "modules/unused/main.tf" {
		t.Errorf("%+v", got)
	}
}

func TestOverlay(t *testing.T) {
	root := tree(map[string]string{"stack/main.tf": `module "vpc" { source = "../vendor/infra/vpc" }`, "vendor/infra/stale.tf": "# hidden"})
	before, after := tree(base), maps.Clone(base)
	after["modules/subnet/main.tf"] = "# other"
	follows := []Stack{{Name: "prod/overlaid", Path: "stack"}}
	got := Stacks(Overlay(root, before, "modules", "vendor/infra"), Overlay(root, tree(after), "modules", "vendor/infra"), follows)
	if len(got) != 1 || got[0].Name != "prod/overlaid" || got[0].Files[0] != "vendor/infra/subnet/main.tf" {
		t.Errorf("%+v", got)
	}
	after = maps.Clone(base)
	after["prod/dns/zones.txt"] = "outside of the included directory"
	if got := Stacks(Overlay(root, before, "modules", "vendor/infra"), Overlay(root, tree(after), "modules", "vendor/infra"), follows); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestCompare(t *testing.T) {
	m := func(name string, fields map[string]string) Manifest {
		return Manifest{"Terraform", "prod", name, fields}
	}
	got := Compare(
		[]Manifest{m("same", map[string]string{"spec.path": `"a"`}), m("gone", nil), m("changed", map[string]string{"spec.path": `"a"`, "spec.interval": `"1h"`})},
		[]Manifest{m("same", map[string]string{"spec.path": `"a"`}), m("new", map[string]string{"spec.path": `"n"`}), m("changed", map[string]string{"spec.path": `"b"`, "spec.suspend": `true`})})
	want := []Difference{
		{Kind: "Terraform", Namespace: "prod", Name: "changed", Fields: []Field{{"spec.interval", `"1h"`, ""}, {"spec.path", `"a"`, `"b"`}, {"spec.suspend", "", "true"}}},
		{Kind: "Terraform", Namespace: "prod", Name: "gone", Deleted: true},
		{Kind: "Terraform", Namespace: "prod", Name: "new", Created: true, Fields: []Field{{"spec.path", "", `"n"`}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
