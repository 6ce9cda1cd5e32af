// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestReadingCallsOfALargeTreeEnds(t *testing.T) {
	const modules, fit = 12, 8 // each has 4 MiB
	files := map[string]string{}
	for i := range modules {
		for _, name := range []string{"a.tf", "b.tf"} {
			files[fmt.Sprintf("m%02d/%s", i, name)] = "#" + strings.Repeat("x", maxFileSize-1)
		}
	}
	r := NewCallReader(tree(files), ReadOptions{})
	for i := range modules {
		var why *UnclearError
		if _, err := r.Calls(fmt.Sprintf("m%02d", i), false); errors.As(err, &why) != (i > fit) {
			t.Errorf("module %d: %v", i, err)
		}
		if _, err := r.Calls("m00", false); err != nil { // was read before, and is not read again
			t.Errorf("again: %v", err)
		}
	}
}

func TestReadCalls(t *testing.T) {
	for sentence, c := range map[string]struct {
		files map[string]string
		want  map[string]Call // nil: unclear
	}{
		"calls are read as they are written": {
			map[string]string{"main.tf": "module \"a\" {\n  source = \"./a/\"\n}\nmodule \"b\" {\n  source  = \"x/y/z\"\n  version = \"~> 1.0\"\n  for_each = var.all\n}\n"},
			map[string]Call{"a": {Source: "./a/"}, "b": {Source: "x/y/z", Version: "~> 1.0"}}},
		"in JSON, too": {
			map[string]string{"main.tf.json": `{"module": {"a": {"source": "x/y/z", "version": "1.2.3"}}}`},
			map[string]Call{"a": {Source: "x/y/z", Version: "1.2.3"}}},
		"an override counts": {
			map[string]string{"main.tf": `module "a" { source = "./a" }`, "z_override.tf": `module "a" { source = "./b" }`},
			map[string]Call{"a": {Source: "./b"}}},
		"a .tofu file replaces the .tf file": {
			map[string]string{"main.tf": `module "a" { source = "./a" }`, "main.tofu": `module "b" { source = "./b" }`},
			map[string]Call{"b": {Source: "./b"}}},
		"none":                        {map[string]string{"main.tf": "locals {}\n"}, map[string]Call{}},
		"a source that is computed":   {map[string]string{"main.tf": `module "a" { source = var.a }`}, nil},
		"a version that is computed":  {map[string]string{"main.tf": "module \"a\" {\n  source = \"x/y/z\"\n  version = local.v\n}\n"}, nil},
		"a call without a source":     {map[string]string{"main.tf": `module "a" {}`}, nil},
		"a call that is there twice":  {map[string]string{"main.tf": `module "a" { source = "./a" }`, "b.tf": `module "a" { source = "./a" }`}, nil},
		"an override of nothing":      {map[string]string{"z_override.tf": `module "a" { source = "./b" }`}, nil},
		"a name that is a path":       {map[string]string{"main.tf": `module "../a" { source = "./a" }`}, nil},
		"mistakes":                    {map[string]string{"main.tf": `module "a" {`}, nil},
		"tests, which call more":      {map[string]string{"main.tf": "locals {}\n", "a.tftest.hcl": ""}, nil},
		"a directory that is missing": {nil, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			tree := fstest.MapFS{}
			for name, content := range c.files {
				tree["m/"+name] = &fstest.MapFile{Data: []byte(content)}
			}
			got, err := NewCallReader(tree, ReadOptions{}).Calls("m", true)
			var why *UnclearError
			if (c.want == nil) != errors.As(err, &why) || !cmp.Equal(got, c.want) {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

func TestReadingCallsOfExpressionsWithoutBottomEnds(t *testing.T) {
	deep := strings.Repeat("(", 1_000_000)
	for _, text := range []string{
		`{"module": {"a": {"source": "${` + deep + `"}}}`, `{"module": {"a": {"source": ["${` + deep + `"]}}}`, `{"module": {"a": {"source": {"x": "${` + deep + `"}}}}`,
		`{"module": [{"a": [{"source": "x/y/z", "version": "${` + deep + `"}]}]}`,
	} {
		var why *UnclearError
		if calls, err := NewCallReader(tree(map[string]string{"main.tf.json": text}), ReadOptions{}).Calls(".", true); !errors.As(err, &why) {
			t.Errorf("%.40s: %v, %v", text, calls, err)
		}
	}
}

func TestLocalSource(t *testing.T) {
	for source, want := range map[string]string{"./a/": "./a", "../a/../b": "../b", "./../a": "../a", "./": "./.", "../": "./..", "../../": "../.."} {
		if got := LocalSource(source); got != want {
			t.Errorf("%q: %q, want %q", source, got, want)
		}
	}
}
