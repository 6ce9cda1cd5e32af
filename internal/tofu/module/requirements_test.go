// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

func tree(files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, content := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return fsys
}

const requires = `
terraform {
  required_version = ">= 1.5"
  required_providers {
    aws = { source = "hashicorp/aws", version = "~> 5.0" }
  }
}
resource "aws_thing" "a" { size = var.size }
module "net" { 
  source = "./net" 
  size   = var.size
}
`

// base is what the cases start from; each says which file to replace, or to add.
var base = map[string]string{"main.tf": requires, "net/main.tf": `resource "google_net" "n" {}`}

func with(name, content string) map[string]string {
	files := map[string]string{}
	for n, c := range base {
		files[n] = c
	}
	files[name] = content
	return files
}

func TestRequirementsAreEqualForTreesThatInitTreatsAlike(t *testing.T) {
	same := map[string]map[string]string{
		"another value of a resource":            with("main.tf", strings.Replace(requires, "size = var.size }", "size = 7 }", 1)),
		"another resource of the same type":      with("more.tf", `resource "aws_thing" "b" {}`),
		"variables, locals and outputs":          with("more.tf", "variable \"v\" {}\nlocals { a = 1 }\noutput \"o\" { value = var.v }"),
		"another input of a module":              with("main.tf", strings.Replace(requires, "size   = var.size", "size   = 3", 1)),
		"files that are no configuration":        with("README.md", "read me"),
		"a directory that is no module":          with("net/data/main.tf", `module "x" { source = "git::https://example.com/x" }`),
		"an override that the caller speaks for": with("yuba_override.tf", `terraform {}`),
		"a moved resource":                       with("more.tf", "moved {\n  from = aws_thing.a\n  to = aws_thing.b\n}"),
	}
	for name, files := range same {
		t.Run(name, func(t *testing.T) {
			if digestOfTree(t, base, ".") != digestOfTree(t, files, ".") {
				t.Error("it differs")
			}
		})
	}
	t.Run("the same program elsewhere in a source", func(t *testing.T) {
		moved := map[string]string{"deep/down/main.tf": base["main.tf"], "deep/down/net/main.tf": base["net/main.tf"]}
		if digestOfTree(t, base, ".") != digestOfTree(t, moved, "deep/down") {
			t.Error("it differs")
		}
	})
}

func TestRequirementsDifferWhenInitMayDoSomethingElse(t *testing.T) {
	other := map[string]map[string]string{
		"a provider that a resource implies":     with("more.tf", `resource "azure_thing" "b" {}`),
		"one that a data source implies":         with("more.tf", `data "azure_thing" "b" {}`),
		"one that an ephemeral resource implies": with("more.tf", `ephemeral "azure_thing" "b" {}`),
		"one that a check implies":               with("more.tf", "check \"c\" {\n  data \"azure_thing\" \"b\" {}\n}"),
		"one that an import implies":             with("more.tf", "import {\n  to = azure_thing.a\n  id = \"x\"\n}"),
		"a provider block":                       with("more.tf", `provider "azure" {}`),
		"an alias":                               with("more.tf", "provider \"aws\" {\n  alias = \"b\"\n}"),
		"the provider of a resource":             with("main.tf", strings.Replace(requires, "size = var.size }", "\nprovider = google\n}", 1)),
		"a function of a provider":               with("more.tf", `output "f" { value = provider::aws::arn("x") }`),
		"the version of a provider":              with("main.tf", strings.Replace(requires, "~> 5.0", "~> 6.0", 1)),
		"the version of the tool":                with("main.tf", strings.Replace(requires, ">= 1.5", ">= 1.6", 1)),
		"another module":                         with("more.tf", `module "two" { source = "./net" }`),
		"the name of a module":                   with("main.tf", strings.Replace(requires, `"net"`, `"web"`, 1)),
		"what an inner module requires":          with("net/main.tf", `resource "azure_net" "n" {}`),
		"the providers given to a module":        with("main.tf", strings.Replace(requires, "size   =", "providers = { google = google.b }\n  size   =", 1)),
		"a backend":                              with("more.tf", "terraform {\n  backend \"s3\" {}\n}"),
		"what the language must be":              with("more.tf", "language {\n  compatible_with {\n    opentofu = \"> 1.10\"\n  }\n}"),
		"an override file":                       with("a_override.tf", `resource "aws_thing" "a" { provider = google }`),
		"a file in JSON":                         with("more.tf.json", `{"resource": {"azure_thing": {"a": {}}}}`),
		"a .tofu file instead":                   with("main.tofu", `resource "azure_thing" "a" {}`),
	}
	seen := map[string]string{digestOfTree(t, base, "."): "nothing"}
	for name, files := range other {
		t.Run(name, func(t *testing.T) {
			digest := digestOfTree(t, files, ".")
			if before, there := seen[digest]; there {
				t.Errorf("it is as with %s", before)
			}
			seen[digest] = name
		})
	}
	t.Run("an override of another resource", func(t *testing.T) {
		files := with("a_override.tf", `resource "aws_thing" "a" { provider = google }`)
		before := digestOfTree(t, files, ".")
		files["main.tf"] = strings.Replace(requires, `"aws_thing" "a"`, `"aws_thing" "b"`, 1)
		if before == digestOfTree(t, files, ".") {
			t.Error("it is the same")
		}
	})
}

func TestRequirementsThatAreNotPlainAreLeftToInit(t *testing.T) {
	cycle := with("net/main.tf", `module "again" { source = "../net" }`)
	wide := map[string]string{"main.tf": ""}
	for i := range 40 {
		wide["main.tf"] += fmt.Sprintf("module \"m%d\" { source = \"./a\" }\n", i)
	}
	wide["a/main.tf"] = strings.ReplaceAll(wide["main.tf"], "./a", "../b")
	wide["b/main.tf"] = "locals {}"
	refused := map[string]map[string]string{
		"a remote module":             with("more.tf", `module "m" { source = "git::https://example.com/m" }`),
		"a module of a registry":      with("more.tf", "module \"m\" {\n  source = \"a/b/c\"\n  version = \"1\"\n}"),
		"a source that is computed":   with("more.tf", "variable \"v\" {}\nmodule \"m\" { source = \"./${var.v}\" }"),
		"a module outside":            with("more.tf", `module "m" { source = "../elsewhere" }`),
		"a module that is not there":  with("more.tf", `module "m" { source = "./missing" }`),
		"a module that calls itself":  cycle,
		"a tree of any size":          wide,
		"a mistake":                   with("more.tf", `resource "aws_thing" {`),
		"a block that nobody knows":   with("more.tf", `action "aws_thing" "b" {}`),
		"an attribute at the top":     with("more.tf", `a = 1`),
		"a cloud":                     with("more.tf", "terraform {\n  cloud {}\n}"),
		"encryption":                  with("more.tf", "terraform {\n  encryption {}\n}"),
		"a backend that is computed":  with("more.tf", "terraform {\n  backend \"s3\" {\n    bucket = var.b\n  }\n}"),
		"a version that is computed":  with("more.tf", "terraform {\n  required_version = var.v\n}"),
		"tests beside the module":     with("a.tftest.hcl", `run "a" {}`),
		"a directory of tests":        with("tests/a.tofutest.hcl", `run "a" {}`),
		"modules in JSON":             with("more.tf.json", `{"module": {"m": {"source": "./net"}}}`),
		"settings in JSON, computed":  with("more.tf.json", `{"terraform": {"backend": {"s3": {"bucket": "${var.b}"}}}}`),
		"several objects in one file": with("more.tf.json", `[{"locals": {}}]`),
		"wild nesting":                with("more.tf", "locals { a = "+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+" }"),
		"no configuration":            {"README.md": "nothing"},
	}
	for name, files := range refused {
		t.Run(name, func(t *testing.T) {
			_, err := ReadRequirements(tree(files), ".", ReadOptions{})
			var u *UnclearError
			if !errors.As(err, &u) {
				t.Errorf("error: %v", err)
			}
		})
	}
	t.Run("a .tofu file for terraform", func(t *testing.T) {
		_, err := ReadRequirements(tree(with("more.tofu", "locals {}")), ".", ReadOptions{Terraform: true})
		var u *UnclearError
		if !errors.As(err, &u) {
			t.Errorf("error: %v", err)
		}
	})
}

func digestOfTree(t *testing.T, files map[string]string, dir string) string {
	t.Helper()
	required, err := ReadRequirements(tree(files), dir, ReadOptions{Skip: "yuba_override.tf"})
	if err != nil {
		t.Fatal(err)
	}
	return required.Digest
}

func FuzzRequirements(f *testing.F) {
	f.Add([]byte(requires), []byte(`{"resource": {}}`))
	f.Add([]byte(`module "m" { source = "." }`), []byte(`[]`))
	f.Add([]byte("terraform {\n  backend \"s3\" {\n  a = f(x)\n}\n}"), []byte(`{"terraform": []}`))
	f.Fuzz(func(_ *testing.T, native, document []byte) {
		files := fstest.MapFS{"main.tf": {Data: native}, "more.tf.json": {Data: document}, "net/main.tf": {Data: native}}
		_, _ = ReadRequirements(files, ".", ReadOptions{}) // ends, whatever it is given
	})
}
