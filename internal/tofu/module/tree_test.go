// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// treeOf reads a root module of one file.
func treeOf(name, text string) *Tree {
	return ReadTree(func(dir string) (map[string][]byte, string) {
		if dir != "infra" {
			return nil, ""
		}
		return map[string][]byte{name: []byte(text)}, ""
	}, "infra", nil)
}

func TestTreesHavePositionsFromTheSourcesRoot(t *testing.T) {
	got := treeOf("main.tf", `
module "m" {
  source  = "acme/vpc/aws"
  version = "1.0.0"
}
resource "aws_vpc" "v" {
  provider = aws.west
  provisioner "local-exec" {}
}
`)
	at := func(line int) Position { return Position{File: "infra/main.tf", Line: line} }
	want := &Tree{
		Calls:     []TreeCall{{Key: "m", Source: "acme/vpc/aws", Version: "1.0.0", Pos: at(2)}},
		Resources: []TreeResource{{Mode: "managed", Type: "aws_vpc", Name: "v", Provider: "hashicorp/aws", Provisioners: []string{"local-exec"}, Pos: at(6)}},
		Unread:    []TreeUnread{{Module: "m", Why: `the module "acme/vpc/aws" is known after init only`, Remote: true, Pos: at(2)}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTreesAreBounded(t *testing.T) {
	calls := 0
	tree := ReadTree(func(string) (map[string][]byte, string) {
		calls++
		return map[string][]byte{"main.tf": []byte(`module "a" { source = "../x" }
module "b" { source = "../x" }
module "c" { source = "../x" }
resource "null_resource" "a" {}`)}, ""
	}, "x", nil)
	if calls != 1 || len(tree.Unread) != 1 || len(tree.Resources) > maxCalls {
		t.Errorf("%d directories were read; %d resources; unread: %+v", calls, len(tree.Resources), tree.Unread)
	}
}

// Whatever the bytes, a tree that has no resources says why, or there are none.
func FuzzReadTree(f *testing.F) {
	for _, text := range []string{`resource "a" "b" { provisioner "x" {} }`, `removed { from = module.a["k]"].b.c }`, `{"resource":{"a":{"b":{}}}}`, `terraform { encryption { key_provider "external" "x" {} } }`,
		`provider "k" { exec {} }`, `module "m" { source = "./m" }`, `check "c" { data "a" "b" {} }`, `import { provider = a.b }`} {
		f.Add("main.tf", text)
		f.Add("main.tf.json", text)
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		tree := treeOf(name, text)
		if len(tree.Resources)+len(tree.Calls)+len(tree.Providers)+len(tree.Programs) == 0 && len(tree.Unread) == 0 && extension(name) == "" {
			t.Error("a directory without configuration is not reported")
		}
	})
}
