// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestProvidersThatAModuleAsksFor(t *testing.T) {
	none := map[string][]string{}
	for sentence, c := range map[string]struct {
		files map[string]string
		want  ProviderNeeds
	}{
		"nothing": {map[string]string{"main.tf": `locals { a = 1 }`}, ProviderNeeds{Providers: none}},
		"declared ones, with and without a constraint": {map[string]string{"main.tf": `
terraform {
  required_providers {
    time = { source = "hashicorp/time", version = "~> 0.13" }
    mine = { source = "registry.example.com/acme/mine" }
    old  = "1.2.3"
  }
}`}, ProviderNeeds{Providers: map[string][]string{"hashicorp/time": {"~> 0.13"}, "registry.example.com/acme/mine": nil, "hashicorp/old": {"1.2.3"}}}},
		"implied ones": {map[string]string{"main.tf": `
resource "aws_thing" "a" {}
data "http" "b" {}
ephemeral "random_password" "c" {}
resource "terraform_data" "d" {}
provider "google" { version = "> 3" }
check "e" {
  data "dns_a" "f" {}
}
import {
  to = azurerm_thing.x
  id = "1"
}`}, ProviderNeeds{Providers: map[string][]string{"hashicorp/aws": nil, "hashicorp/http": nil, "hashicorp/random": nil,
			"hashicorp/google": {"> 3"}, "hashicorp/dns": nil, "hashicorp/azurerm": nil}}},
		"a resource that names its provider": {map[string]string{"main.tf": `
terraform {
  required_providers {
    corp = { source = "example.com/corp/aws" }
  }
}
resource "aws_thing" "a" { provider = corp.west }`}, ProviderNeeds{Providers: map[string][]string{"example.com/corp/aws": nil}}},
		"files in JSON": {map[string]string{"main.tf.json": `{"terraform": {"required_providers": {"time": {"source": "hashicorp/time", "version": "0.13.1"}}},
"resource": {"aws_thing": {"a": {"provider": "aws.west"}}}, "module": {"m": {"source": "./m"}}}`, "m/main.tf": `resource "null_resource" "n" {}`},
			ProviderNeeds{Providers: map[string][]string{"hashicorp/time": {"0.13.1"}, "hashicorp/aws": nil, "hashicorp/null": nil}}},
		"constraints of several modules come together": {map[string]string{
			"main.tf":   "terraform {\n  required_providers {\n    a = { source = \"x/a\", version = \">= 1\" }\n  }\n}\nmodule \"m\" { source = \"./m\" }\nmodule \"n\" { source = \"./m\" }",
			"m/main.tf": "terraform {\n  required_providers {\n    other = { source = \"x/a\", version = \"< 2\" }\n  }\n}",
		}, ProviderNeeds{Providers: map[string][]string{"x/a": {"< 2", ">= 1"}}}},
		"a module from elsewhere that is not here": {map[string]string{"main.tf": `module "m" { source = "corp/net/aws" }`},
			ProviderNeeds{Providers: none, Remote: true, Unclear: `the module "m" is not available`}},
		"a module from elsewhere that is installed": {map[string]string{"main.tf": `module "m" { source = "corp/net/aws" }`,
			".terraform/modules/modules.json": `{"Modules":[{"Key":"","Source":"","Dir":"."},{"Key":"m","Source":"corp/net/aws","Dir":".terraform/modules/m"}]}`,
			".terraform/modules/m/main.tf":    `resource "aws_thing" "a" {}`},
			ProviderNeeds{Providers: map[string][]string{"hashicorp/aws": nil}}},
		"a module that the list of installed ones puts outside": {map[string]string{"main.tf": `module "m" { source = "corp/net/aws" }`,
			".terraform/modules/modules.json": `{"Modules":[{"Key":"m","Dir":"../../../etc"}]}`},
			ProviderNeeds{Providers: none, Unclear: `the module "m" is outside of the source`}},
		"a source that is computed": {map[string]string{"main.tf": `module "m" { source = var.source }`},
			ProviderNeeds{Providers: none, Remote: true, Unclear: `the source of a block "module" is computed`}},
		"a mistake": {map[string]string{"main.tf": `resource {`}, ProviderNeeds{Providers: none, Unclear: "main.tf is invalid; the tool explains it"}},
		"tests": {map[string]string{"main.tf": `resource "aws_thing" "a" {}`, "tests/a.tftest.hcl": `provider "x" {}`},
			ProviderNeeds{Providers: map[string][]string{"hashicorp/aws": nil}, Others: true}},
		"a function that nothing declares": {map[string]string{"main.tf": `output "o" { value = provider::time::parse("x") }`},
			ProviderNeeds{Providers: none, Others: true}},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(c.want, ReadProviders(tree(c.files), ".", ReadOptions{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadingProvidersOfATreeWithoutEndEnds(t *testing.T) {
	needs := ReadProviders(tree(map[string]string{"main.tf": `module "m" { source = "./." }`}), ".", ReadOptions{})
	if !strings.Contains(needs.Unclear, " levels") {
		t.Errorf("%+v", needs)
	}
}

// The parser of expressions calls itself for every level: none that was not measured before may
// reach it, or the whole process ends.
func TestReadingProvidersOfExpressionsWithoutBottomEnds(t *testing.T) {
	deep := strings.Repeat("(", 1_000_000)
	for _, text := range []string{
		`{"import": [{"to": ["${` + deep + `"], "id": "x"}]}`,
		`{"resource": {"a": {"b": {"provider": ["${` + deep + `"]}}}}`,
		`{"check": {"a": {"data": {"x": {"y": {"provider": {"z": "${` + deep + `"}}}}}}}`,
	} {
		needs := ReadProviders(tree(map[string]string{"main.tf.json": text}), ".", ReadOptions{})
		if needs.Remote || len(needs.Providers) > 1 {
			t.Errorf("%.40s: %+v", text, needs)
		}
	}
}

// countingFS counts how often files are opened.
type countingFS struct {
	fs.FS
	opened map[string]int
}

func (c countingFS) Open(name string) (fs.File, error) {
	c.opened[name]++
	return c.FS.Open(name)
}

func TestAProviderReaderReadsEachDirectoryOnce(t *testing.T) {
	files := map[string]string{"leaf/main.tf": `resource "aws_thing" "a" {}`}
	for i := range 5 {
		files[fmt.Sprintf("m%d/main.tf", i)] = fmt.Sprintf("module \"next\" { source = \"../m%d\" }\nmodule \"leaf\" { source = \"../leaf\" }", i+1)
	}
	files["m5/main.tf"] = `resource "google_thing" "a" {}`
	fsys := countingFS{tree(files), map[string]int{}}
	r := NewProviderReader(fsys, ReadOptions{})
	for i := range 5 {
		dir := fmt.Sprintf("m%d", i)
		got, err := r.Read(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(ReadProviders(tree(files), dir, ReadOptions{}), got); diff != "" {
			t.Error(diff)
		}
	}
	for name := range files {
		if n := fsys.opened[name]; n != 1 {
			t.Errorf("%s was opened %d times", name, n)
		}
	}
}

func TestAProviderReaderEndsWithItsContext(t *testing.T) {
	gone := errors.New("the client went away")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	fsys := countingFS{tree(map[string]string{"main.tf": ""}), map[string]int{}}
	if _, err := NewProviderReader(fsys, ReadOptions{}).Read(ctx, "."); !errors.Is(err, gone) || fsys.opened["main.tf"] > 0 {
		t.Errorf("%v, %v", err, fsys.opened)
	}
}
