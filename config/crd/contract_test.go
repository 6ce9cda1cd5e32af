// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

const contracts = "yuba.dev_contracts.yaml"

func TestExplainHelpsOnContracts(t *testing.T) {
	d := load(t, contracts)
	walk("", *d.version.Schema.OpenAPIV3Schema, func(path string, props apiextensionsv1.JSONSchemaProps) {
		if path == ".metadata" || isKubernetes(path) {
			return
		}
		if len(strings.Fields(props.Description)) < 3 {
			t.Errorf("%s is described as %q", path, props.Description)
		}
	})
}

func TestWhatAContractMayBe(t *testing.T) {
	d := load(t, contracts)
	with := func(name string, value any) map[string]any {
		spec := map[string]any{"version": "1.2.0", "type": "object({ vpc_id = string, note = optional(string) })"}
		spec[name] = value
		return spec
	}
	example := func(value any) map[string]any {
		return with("examples", []any{map[string]any{"name": "small", "value": value}})
	}
	for sentence, c := range map[string]struct {
		spec map[string]any
		ok   bool
	}{
		"a version and a type":            {with("version", "1.2.0"), true},
		"a pre-release":                   {with("version", "2.0.0-rc.1"), true},
		"two numbers":                     {with("version", "1.2"), false},
		"a version with a v":              {with("version", "v1.2.0"), false},
		"a version with build metadata":   {with("version", "1.2.0+x"), false},
		"no type":                         {with("type", ""), false},
		"a type that is too long":         {with("type", strings.Repeat("x", 65537)), false},
		"private paths":                   {with("private", []any{"password", "users[*].token"}), true},
		"a private path twice":            {with("private", []any{"password", "password"}), false},
		"an empty path":                   {with("private", []any{""}), false},
		"deprecated paths":                {with("deprecated", []any{map[string]any{"path": "note", "message": "read notes"}, map[string]any{"path": "vpc_id"}}), true},
		"a deprecated path twice":         {with("deprecated", []any{map[string]any{"path": "note"}, map[string]any{"path": "note"}}), false},
		"a validation":                    {with("validations", []any{map[string]any{"rule": "self.vpc_id != ''"}}), true},
		"a validation without a rule":     {with("validations", []any{map[string]any{"message": "wrong"}}), false},
		"an example":                      {example(map[string]any{"vpc_id": "vpc-1", "list": []any{int64(1), "x"}}), true},
		"an example that is a list":       {example([]any{"a"}), true},
		"an example that is a text":       {example("a"), true},
		"an example without a value":      {with("examples", []any{map[string]any{"name": "small"}}), false},
		"two examples with the same name": {with("examples", []any{map[string]any{"name": "a", "value": true}, map[string]any{"name": "a", "value": true}}), false},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, errs := d.admit(t, map[string]any{"apiVersion": "yuba.dev/v1alpha1", "kind": "Contract", "metadata": map[string]any{"name": "base"}, "spec": c.spec})
			if (len(errs) == 0) != c.ok {
				t.Errorf("errors %v", errs)
			}
		})
	}
}
