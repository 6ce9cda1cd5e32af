// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDeclaredResources(t *testing.T) {
	files := map[string][]byte{
		"infra/main.tf": []byte(`
resource "aws_vpc" "main" { count = 3 }
data "aws_ami" "x" {}
module "net" { source = "../modules/net" }
module "far" { source = "terraform-aws-modules/vpc/aws" }
module "gone" { source = "./gone" }
`),
		"infra/more.tf.json":     []byte(`{"resource": {"aws_eip": {"a": {}, "b": {}}}}`),
		"infra/broken.tf":        []byte(`resource "x" {`),
		"infra/odd.tf":           []byte(`resource "ev il" "n\nx" {}`),
		"modules/net/net.tofu":   []byte(`resource "aws_subnet" "s" {}` + "\n" + `module "self" { source = "../net" }`),
		"modules/net/net.tf":     []byte(`resource "aws_subnet" "replaced" {}`),
		"elsewhere/unrelated.tf": []byte(`resource "a" "b" {}`),
	}
	got := Declared(files, "infra")
	deep := 0
	got = append([]string(nil), got...)
	kept := got[:0]
	for _, address := range got {
		if strings.Contains(address, "module.self") { // as deep as calls may go
			deep++
			continue
		}
		kept = append(kept, address)
	}
	want := []string{"aws_eip.a", "aws_eip.b", "aws_vpc.main", "module.far", "module.gone", "module.net.aws_subnet.s"}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if deep == 0 || deep > maxCallDepth {
		t.Errorf("%d resources of a module that calls itself", deep)
	}
	if got := Declared(files, ""); len(got) != 0 {
		t.Errorf("of the root: %v", got)
	}
}

func TestDeclaredIsBounded(t *testing.T) {
	var text strings.Builder
	for i := range maxDeclared + 10 {
		fmt.Fprintf(&text, "resource \"a\" \"b%d\" {}\n", i)
	}
	if got := Declared(map[string][]byte{"main.tf": []byte(text.String())}, "."); len(got) != maxDeclared {
		t.Errorf("%d", len(got))
	}
}
