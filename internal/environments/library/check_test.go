// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// tree makes a file system of files by name.
func tree(files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

func read(t testing.TB, files map[string]string) *Library {
	t.Helper()
	l, err := Read(tree(files))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// short are findings as "PLACE CODE SUBJECT".
func short(list []Finding) (texts []string) {
	for _, f := range list {
		texts = append(texts, fmt.Sprintf("%s %s %s", f.Place(), f.Code, f.Subject))
	}
	return texts
}

// shop is a module that others call.
const shop = `
variable "domain" { type = string }
variable "replicas" {
  type    = number
  default = 1
}
variable "storage" {
  type    = object({ uri = string, pool = optional(number) })
  default = null
}
output "url" { value = var.domain }
`

func TestWhatModulesPassToEachOther(t *testing.T) {
	for what, c := range map[string]struct {
		main string
		want []string
	}{
		"all fits": {`
module "shop" {
  source     = "../shop"
  domain     = "a.example"
  replicas   = 2
  storage    = { uri = "x" }
  depends_on = []
}
output "url" { value = module.shop.url }`, nil},
		"an argument that no variable takes, and one that is missing": {`
module "shop" {
  source = "../shop"
  domian = "a.example"
}`, []string{"env/main.tf:2 missing-argument module.shop.domain", "env/main.tf:4 unknown-argument module.shop.domian"}},
		"values of another type": {`
module "shop" {
  source   = "../shop"
  domain   = ["a"]
  replicas = "many"
  storage  = { pool = 1 }
}`, []string{"env/main.tf:4 wrong-type module.shop.domain", "env/main.tf:5 wrong-type module.shop.replicas", "env/main.tf:6 wrong-type module.shop.storage"}},
		"types of variables that are passed on": {`
variable "domains" { type = list(string) }
variable "any" {}
module "shop" {
  source   = "../shop"
  domain   = var.domains
  replicas = var.any
  storage  = { uri = "${var.any}", pool = upper(var.any) }
}`, []string{"env/main.tf:6 wrong-type module.shop.domain"}},
		"an attribute that is dropped": {`
module "shop" {
  source  = "../shop"
  domain  = "a"
  storage = { uri = "x", pol = 3 }
}`, []string{"env/main.tf:5 dropped-attribute module.shop.storage"}},
		"outputs that are not there, however they are read": {`
module "shop" {
  source = "../shop"
  domain = "a"
}
module "many" {
  source   = "../shop"
  for_each = toset(["a"])
  domain   = each.key
}
locals {
  a = module.shop.uri
  b = try(module.shop.uris, null)
  c = module.many["a"].uri
  d = try(module.many[local.a].uri, "")
  e = { for k, m in module.many : k => m.uri }
  f = module.many[*].uri
  g = [for m in [1] : m.uri]
  h = { for k, m in module.many : k => m.url }
  i = "${module.other.url}"
}`, []string{
			"env/main.tf:12 unknown-output module.shop.uri", "env/main.tf:13 unknown-output module.shop.uris",
			"env/main.tf:14 unknown-output module.many.uri", "env/main.tf:15 unknown-output module.many.uri", "env/main.tf:16 unknown-output module.many.uri",
			"env/main.tf:17 unknown-output module.many.uri", "env/main.tf:20 unknown-call module.other.url"}},
		"a directory without a module": {`
module "shop" { source = "../shopp" }`, []string{"env/main.tf:2 no-module module.shop"}},
		"modules from elsewhere are not checked": {`
module "registry" {
  source = "acme/shop/aws"
  x      = 1
}
module "outside" { source = "../../elsewhere" }
output "x" { value = module.registry.y }`, []string{"env/main.tf:6 outside module.outside"}},
		"provider configurations": {`
provider "aws" { alias = "west" }
module "db" {
  source    = "../db"
  providers = { aws.replica = aws.wset, aws.other = aws.west }
}
module "db2" { source = "../db" }`, []string{
			"env/main.tf:5 unknown-provider module.db", "env/main.tf:5 unknown-provider module.db", "env/main.tf:7 missing-provider module.db2"}},
		"a block that versions of the provider lack": {`
terraform {
  required_providers {
    helm = { version = ">= 2.0" }
  }
}
provider "helm" {
  kubernetes {}
}`, []string{"env/main.tf:7 removed-block provider.helm"}},
		"and one that the constraint excludes": {`
terraform {
  required_providers {
    helm = { version = "~> 2.0" }
  }
}
provider "helm" {
  kubernetes {}
}`, nil},
		"no version for all": {`
terraform {
  required_providers {
    aws = { version = "~> 5.0" }
  }
}
module "db" {
  source    = "../db"
  providers = { aws.replica = aws }
}`, []string{"env version-conflict hashicorp/aws"}},
		"files with errors": {`module "shop" {`, []string{"env/main.tf:1 unreadable env"}},
	} {
		l := read(t, map[string]string{"env/main.tf": c.main, "shop/main.tf": shop, "db/main.tf": `
terraform {
  required_providers {
    aws = {
      source                = "hashicorp/aws"
      version               = ">= 6"
      configuration_aliases = [aws.replica]
    }
  }
}`})
		if got := short(l.Check()); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

func TestMessagesNameTheNearestWord(t *testing.T) {
	l := read(t, map[string]string{"env/main.tf": `
module "shop" {
  source = "../shop"
  domian = "a"
  domain = "b"
}
output "x" { value = module.shop.urls }`, "shop/main.tf": shop})
	found := l.Check()
	for i, want := range []string{`shop has no variable "domian"; did you mean domain?`, `shop has no output "urls"; did you mean url?`} {
		if found[i].Message != want {
			t.Errorf("%q, want %q", found[i].Message, want)
		}
	}
}

func TestModulesThatCallEachOther(t *testing.T) {
	l := read(t, map[string]string{
		"a/main.tf": `module "b" { source = "../b" }`, "b/main.tf": `module "c" { source = "../c" }`, "c/main.tf": `module "a" { source = "../a" }`,
		"self/main.tf": `module "self" { source = "../self" }`})
	if got := short(l.Check()); !slices.Equal(got, []string{"c/main.tf:1 call-cycle module.a", "self/main.tf:1 call-cycle module.self"}) {
		t.Errorf("%q", got)
	}
	if found := l.Check(); !strings.Contains(found[0].Message, "a calls b calls c calls a") {
		t.Errorf("%q", found[0].Message)
	}
	if roots := l.Roots(); !slices.Equal(roots, []string{"self"}) {
		t.Errorf("roots: %q", roots)
	}
}

func TestConstraintsThatContradict(t *testing.T) {
	for text, want := range map[string]bool{
		"~> 5.0|>= 5.1": true, "~> 5.0|>= 6": false, ">= 2|< 2": false, ">= 2.0|!= 2.0.0": true, "> 1.2.3|!= 1.2.4|!= 1.2.5": true,
		"= 3.1.0|~> 3.0": true, "= 3.1.0|= 3.1.1": false, "nonsense|>= 1": true, "": true, "< 1": true, "> 1.5|< 1.5.2": true, "~> 1.2.3|~> 1.3": false,
	} {
		if got := satisfiable(strings.Split(text, "|")); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// TestLargeLibraries: what is read is bounded, and hidden directories are not read.
func TestLargeLibraries(t *testing.T) {
	files := map[string]string{".terraform/modules/x/main.tf": `module "y" { source = "./none" }`, "node_modules/x/main.tf": `module "y" { source = "./none" }`, "main.tf": ""}
	if l := read(t, files); len(l.Modules) != 1 || len(l.Check()) != 0 {
		t.Errorf("%v", l.Dirs())
	}
	for i := range maxModules + 1 {
		files[fmt.Sprintf("m%d/main.tf", i)] = ""
	}
	if _, err := Read(tree(files)); err == nil || !strings.Contains(err.Error(), "more than 5000 modules") {
		t.Errorf("%v", err)
	}
}

// BenchmarkCheck reads and checks 50 modules and 10 environments that each call all of them.
func BenchmarkCheck(b *testing.B) {
	files := map[string]string{}
	for i := range 50 {
		text := ""
		for v := range 20 {
			text += fmt.Sprintf("variable \"v%d\" {\n  type    = string\n  default = \"\"\n}\noutput \"o%d\" { value = var.v%d }\nresource \"terraform_data\" \"r%d\" { input = var.v%d }\n", v, v, v, v, v)
		}
		files[fmt.Sprintf("modules/m%d/main.tf", i)] = text
	}
	for e := range 10 {
		text := ""
		for i := range 50 {
			text += fmt.Sprintf("module \"m%d\" {\n  source = \"../../modules/m%d\"\n  v1 = \"x\"\n  v2 = try(module.m%d.o1, null)\n}\n", i, i, (i+1)%50)
		}
		files[fmt.Sprintf("environments/e%d/main.tf", e)] = text
	}
	for b.Loop() {
		if found := read(b, files).Check(); len(found) != 0 {
			b.Fatal(found[0])
		}
	}
}
