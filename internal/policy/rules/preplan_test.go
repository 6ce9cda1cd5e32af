// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"path"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/policy/facts"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// configurations are judged before a plan, with the addresses of findings as in plans.
var configurations = map[string]struct {
	files     map[string]string
	lock      string
	installed map[string]string
	list      string
	finds     map[string]string
}{
	"nothing but resources": {
		files: map[string]string{"main.tf": `resource "terraform_data" "a" {}`},
		finds: map[string]string{`no-external-data`: "", `no-provisioners`: "", `no-iam`: "", `pinned-versions`: "", `approved-providers {"providers":["hashicorp/aws"]}`: "",
			`approved-modules {"modules":["acme/vpc/aws"]}`: "terraform_data.a", `approved-modules {"modules":["acme/vpc/aws"],"root":"allow"}`: ""},
	},
	"a data source in a local module in a module": {
		files: map[string]string{"main.tf": `module "m" { source = "./m" }`, "m/main.tf": `module "n" { source = "../n" }`, "n/x.tf": "\n\ndata \"external\" \"x\" {}\n"},
		finds: map[string]string{`no-external-data`: "module.m.module.n.data.external.x", `no-external-data {"allowed":["external"]}`: ""},
	},
	"configuration in JSON": {
		files: map[string]string{"main.tf.json": `{"data":{"external":{"x":{"program":["true"]}}},"resource":{"null_resource":{"a":{"provisioner":[{"local-exec":{"command":"true"}}]}}},"module":{"m":{"source":"./m"}}}`,
			"m/main.tofu.json": `{"data":[{"http":[{"y":{}}]}]}`},
		finds: map[string]string{`no-external-data`: "data.external.x module.m.data.http.y", `no-provisioners`: "null_resource.a"},
	},
	"an override adds a provisioner, and another file hides behind .tofu": {
		files: map[string]string{"main.tf": `resource "terraform_data" "a" {}`, "x_override.tf": `resource "terraform_data" "a" {
			provisioner "remote-exec" {}
		}`, "b.tf": `data "external" "b" {}`, "b.tofu": `resource "terraform_data" "b" {}`},
		finds: map[string]string{`no-provisioners`: "terraform_data.a", `no-external-data`: "data.external.b"},
	},
	"checks, ephemeral resources and removed blocks": {
		files: map[string]string{"main.tf": `
			check "c" {
				data "http" "x" {}
			}
			ephemeral "external" "e" {}
			removed {
				from = module.m["k]"].aws_instance.gone
				provisioner "local-exec" {
					when    = destroy
					command = "true"
				}
			}`},
		finds: map[string]string{`no-external-data`: "data.http.x ephemeral.external.e", `no-provisioners`: "aws_instance.gone"},
	},
	"programs for keys and credentials": {
		files: map[string]string{"main.tf": `
			terraform {
				encryption {
					key_provider "external" "k" { command = ["true"] }
				}
			}
			provider "kubernetes" {
				exec {
					command = "true"
				}
			}
			provider "helm" {
				kubernetes {
					dynamic "exec" {
						for_each = [1]
						content {}
					}
				}
			}
			provider "helm" {
				alias      = "v3"
				kubernetes = { exec = { command = "true" } }
			}`},
		finds: map[string]string{`no-external-data`: "key_provider.external.k provider.kubernetes provider.helm provider.helm", `no-external-data {"allowed":["exec"]}`: "key_provider.external.k",
			`no-iam`: "?key_provider.external.k ?provider.kubernetes ?provider.helm ?provider.helm"},
	},
	"a source that is computed, a block that is not known, and a file that is broken": {
		files: map[string]string{"main.tf": `module "m" { source = var.where }`, "a.tf": `action "x" "y" {}`, "m/main.tf": `resource "a" {`, "z.tf": `module "b" { source = "./m" }`},
		finds: map[string]string{`no-external-data`: "?- ?- ?module.b ?module.m", `no-provisioners`: "?- ?- ?module.b ?module.m"},
	},
	"a local module that is not there, and one outside": {
		files: map[string]string{"main.tf": `module "m" { source = "./gone" }
			module "n" { source = "../../n" }`},
		finds: map[string]string{`no-provisioners`: "?module.m ?module.n"},
	},
	"a module that calls itself": {
		files: map[string]string{"main.tf": `module "m" { source = "./m" }`, "m/main.tf": "module \"a\" { source = \"../m\" }\nmodule \"b\" { source = \"../m\" }"},
		finds: map[string]string{`no-provisioners`: "?" + deepest()},
	},
	"a module from elsewhere, before init": {
		files: map[string]string{"main.tf": `module "m" {
				source  = "acme/vpc/aws"
				version = "~> 1.0"
			}
			module "n" { source = "git::https://example.com/n.git" }`},
		finds: map[string]string{`no-provisioners`: "?module.m ?module.n", `approved-modules {"modules":["acme/vpc/aws"],"root":"allow"}`: "?module.m ?module.n module.n",
			`pinned-versions`: "?module.m ?module.n module.m module.n"},
	},
	"a module from elsewhere, after init": {
		files: map[string]string{"main.tf": `module "m" { source = "acme/vpc/aws" }`, ".terraform/modules/m/main.tf": `module "inner" { source = "./inner" }`,
			".terraform/modules/m/inner/main.tf": `data "external" "x" {}`},
		installed: map[string]string{"m": ".terraform/modules/m"}, list: `{"Modules":[{"Key":"m","Source":"registry.opentofu.org/acme/vpc/aws","Version":"1.2.3","Dir":".terraform/modules/m"}]}`,
		finds: map[string]string{`no-external-data`: "module.m.module.inner.data.external.x", `approved-modules {"modules":["acme/vpc/aws"]}`: "",
			`approved-modules {"modules":[{"source":"acme/vpc/aws","versions":">= 2"}]}`: "module.m", `approved-modules {"modules":["acme/other/aws"]}`: "module.m"},
	},
	"a local module that the tool's list has elsewhere": {
		files:     map[string]string{"main.tf": `module "m" { source = "./m" }`, "m/main.tf": `resource "terraform_data" "a" {}`, "evil/main.tf": `data "external" "x" {}`},
		installed: map[string]string{"m": "evil"},
		finds:     map[string]string{`no-external-data`: "?module.m"},
	},
	"providers that are required, implied, renamed and passed": {
		files: map[string]string{"main.tf": `
			terraform {
				required_providers {
					amazon = { source = "Evil.example.com/corp/aws", version = "1.0.0" }
				}
			}
			resource "aws_vpc" "v" { provider = amazon.west }
			resource "google_compute_network" "n" {}
			module "m" {
				source    = "./m"
				providers = { aws = amazon }
			}`, "m/main.tf": `resource "azurerm_virtual_network" "n" {}`},
		lock: "provider \"registry.opentofu.org/hashicorp/google\" {\n  version = \"6.0.0\"\n  hashes = [\"h1:4A2GTbdsJZ1mWYBmXMJ3lpgDGQWDLx1T7uQ2kjJzHRA=\"]\n}\n",
		finds: map[string]string{`approved-providers {"providers":["hashicorp/*"]}`: "evil.example.com/corp/aws",
			`approved-providers {"providers":["hashicorp/google"]}`:                                                             "evil.example.com/corp/aws registry.opentofu.org/hashicorp/azurerm",
			`approved-providers {"providers":[{"source":"hashicorp/google","versions":"~> 5.0"},"*/*","evil.example.com/*/*"]}`: "",
			`approved-providers {"providers":[{"source":"hashicorp/*","versions":"> 1"},"evil.example.com/*/*"]}`:               "?registry.opentofu.org/hashicorp/azurerm",
			`pinned-versions`: "evil.example.com/corp/aws registry.opentofu.org/hashicorp/azurerm"},
	},
}

// deepest is the first call that is nested too deep.
func deepest() string {
	text := "module.m"
	for range 32 {
		text += ".module.a"
	}
	return text
}

func TestRulesJudgeConfigurations(t *testing.T) {
	for sentence, c := range configurations {
		t.Run(sentence, func(t *testing.T) {
			tree := module.ReadTree(func(dir string) (map[string][]byte, string) {
				found := map[string][]byte{}
				for name, text := range c.files {
					if path.Dir(name) == dir {
						found[path.Base(name)] = []byte(text)
					}
				}
				return found, ""
			}, ".", c.installed)
			in := facts.Inputs{Stage: facts.StagePrePlan, Declared: tree}
			if c.lock != "" {
				in.LockFile = []byte(c.lock)
			}
			if c.list != "" {
				in.ModuleList = []byte(c.list)
			}
			d, err := facts.Build(in)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for rule := range c.finds {
				got[rule] = found(t, rule, d, monday)
			}
			if diff := cmp.Diff(c.finds, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
