// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package hide hides sensitive values in objects that templates make: rendered objects may contain
// passwords of the row. They are hidden in the data of Secrets, and in the values of variables that a
// stack's program declares as sensitive. It never changes the object that it is given.
package hide

import (
	"path"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// Value replaces a sensitive value.
const Value = "<sensitive>"

// Secrets returns an object without sensitive values.
func Secrets(u *unstructured.Unstructured) *unstructured.Unstructured {
	hidden := u.DeepCopy()
	if isSecret(u) {
		for _, field := range []string{"data", "stringData"} {
			if data, ok := hidden.Object[field].(map[string]any); ok {
				for key := range data {
					data[key] = Value
				}
			}
		}
	}
	names := sensitiveVariables(u)
	for _, v := range variablesOf(hidden) {
		if _, set := v["value"]; set && names[nameOf(v)] {
			v["value"] = Value
		}
	}
	return hidden
}

func isSecret(u *unstructured.Unstructured) bool {
	return u.GetAPIVersion() == "v1" && u.GetKind() == "Secret"
}

// Changes hides the sensitive values of two forms of a stack, and only shows whether they
// differ. The comparison itself hides those of Secrets.
func Changes(before, after *unstructured.Unstructured) (was, is *unstructured.Unstructured) {
	names := sensitiveVariables(before)
	for name := range sensitiveVariables(after) {
		names[name] = true
	}
	if len(names) == 0 {
		return before, after
	}
	was, is = before.DeepCopy(), after.DeepCopy()
	values := func(u *unstructured.Unstructured) map[string]any {
		all := map[string]any{}
		for _, v := range variablesOf(u) {
			all[nameOf(v)] = v["value"]
		}
		return all
	}
	had, has := values(before), values(after)
	for _, side := range []struct {
		u     *unstructured.Unstructured
		other map[string]any
		mark  string
	}{{was, has, " (before)"}, {is, had, " (after)"}} {
		for _, v := range variablesOf(side.u) {
			value, set := v["value"]
			if !set || !names[nameOf(v)] {
				continue
			}
			v["value"] = Value
			if other, both := side.other[nameOf(v)]; both && !equality.Semantic.DeepEqual(value, other) {
				v["value"] = Value + side.mark
			}
		}
	}
	return was, is
}

// variablesOf are the entries of a stack's spec.vars, in place.
func variablesOf(u *unstructured.Unstructured) []map[string]any {
	if !ofStackKind(u) {
		return nil
	}
	spec, _ := u.Object["spec"].(map[string]any)
	list, _ := spec["vars"].([]any)
	var all []map[string]any
	for _, item := range list {
		if v, ok := item.(map[string]any); ok {
			all = append(all, v)
		}
	}
	return all
}

func nameOf(v map[string]any) string {
	name, _ := v["name"].(string)
	return name
}

func ofStackKind(u *unstructured.Unstructured) bool {
	return u.GroupVersionKind().GroupKind() == infrav1.GroupVersion.WithKind("Terraform").GroupKind()
}

// sensitiveVariables are those that a stack's inline program declares as sensitive.
func sensitiveVariables(u *unstructured.Unstructured) map[string]bool {
	names := map[string]bool{}
	var t infrav1.Terraform
	if !ofStackKind(u) || runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &t) != nil {
		return names
	}
	files, inline := t.InlineProgram()
	if !inline {
		return names
	}
	root := path.Clean("/" + t.Spec.Path)
	here := map[string][]byte{}
	for name, content := range files {
		if path.Dir(path.Clean("/"+name)) == root {
			here[path.Base(name)] = []byte(content)
		}
	}
	program, _ := module.Parse(here) // check reports errors
	for name, v := range program.Variables {
		if v.Sensitive {
			names[name] = true
		}
	}
	return names
}
