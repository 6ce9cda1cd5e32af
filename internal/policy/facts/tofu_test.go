// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/testkit/plantest"
)

var update = flag.Bool("update", false, "write the expected documents anew")

const child = `
variable "secret" {
  type      = string
  sensitive = true
}
variable "size" { type = number }
resource "terraform_data" "each" {
  for_each = toset(["plain", "a.b", "x]\"y", "ünï", "$${z}"])
  input    = { name = each.key, size = var.size, secret = var.secret }
}
module "inner" {
  source = "./inner"
}
`

const inner = `
resource "terraform_data" "id" {
  input = "inner"
  provisioner "local-exec" {
    command = "true"
  }
}
output "id" { value = terraform_data.id.id }
`

const root = `
variable "secret" {
  type      = string
  default   = "correct horse battery"
  sensitive = true
}
variable "size" {
  type    = number
  default = 1
}
module "many" {
  source   = "./child"
  for_each = toset(["one", "two[\"x\"]"])
  secret   = var.secret
  size     = var.size
}
resource "terraform_data" "kept" { input = "kept" }
resource "terraform_data" "leaks" { input = nonsensitive("x-${var.secret}-y") }
output "leak" {
  value     = var.secret
  sensitive = true
}
output "later" { value = terraform_data.kept.id }
`

// TestDocument compares whole documents of plans that tofu made.
func TestDocument(t *testing.T) {
	modules := func(main string) plantest.Files {
		return plantest.Files{"main.tf": main, "child/main.tf": child, "child/inner/main.tf": inner}
	}
	later := `
resource "terraform_data" "gone" { input = "gone" }
resource "terraform_data" "forgotten" { input = "forgotten" }
resource "terraform_data" "replaced" {
  input            = { a = 1, tags = { team = "a", env = "x" } }
  triggers_replace = 1
}
resource "terraform_data" "named" { input = { tags = { team = "a", env = "x" } } }
`
	for name, c := range map[string]plantest.Case{
		"create-in-modules": {Files: modules(root)},
		"change-in-modules": {Before: modules(root), Files: modules(strings.Replace(root, "default = 1", "default = 2", 1))},
		"moved-removed-replaced": {Before: plantest.Files{"main.tf": later}, Files: plantest.Files{"main.tf": `
removed {
  from = terraform_data.forgotten
  lifecycle { destroy = false }
}
resource "terraform_data" "replaced" {
  input            = { a = 1, tags = { team = "b", env = "x" } }
  triggers_replace = 2
}
moved {
  from = terraform_data.named
  to   = terraform_data.renamed
}
resource "terraform_data" "renamed" { input = { tags = { team = "b", env = "x" } } }
import {
  to = terraform_data.adopted
  id = "some-id"
}
resource "terraform_data" "adopted" {}
`}},
		"destroy": {Before: plantest.Files{"main.tf": later}, Files: plantest.Files{"main.tf": later}, Args: []string{"-destroy"}},
		"nothing": {Before: plantest.Files{"main.tf": later}, Files: plantest.Files{"main.tf": later}},
	} {
		t.Run(name, func(t *testing.T) {
			made := plantest.Make(t, c)
			d, err := Build(Inputs{Stage: StagePlan, Show: made.Show, ModuleList: made.ModuleList, LockFile: made.LockFile,
				Stack: Stack{Namespace: "team-a", Name: "demo"}, Run: Run{ID: "1", Purpose: "deploy", PlannedAt: time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)},
				Digests: Digests{Plan: "sha256:00"}})
			if err != nil {
				t.Fatal(err)
			}
			d.Plan.Tool = "any" // the documents of two releases are equal
			text, err := json.MarshalIndent(d, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			for _, secret := range []string{"correct horse", "battery"} {
				if bytes.Contains(text, []byte(secret)) {
					t.Errorf("%q is in the document", secret)
				}
			}
			text = append(stable(text), '\n')
			golden := filepath.Join("testdata", name+".json")
			if *update {
				if err := os.WriteFile(golden, text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(text)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// identifier matches the ids that tofu invents.
var identifier = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

func stable(text []byte) []byte { return identifier.ReplaceAll(text, []byte("ID")) }
