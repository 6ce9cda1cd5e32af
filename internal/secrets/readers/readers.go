// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package readers finds the stacks that read Secrets, and the order in which they run when the values
// change: a stack runs after those that it depends on.
//
// It is computed from the stacks' specs alone. A stack that reads a store by itself, such as with a data source
// of Vault, is not found; the environment's file names it.
package readers

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// Reads reports whether a stack reads a Secret of its namespace.
func Reads(t *infrav1.Terraform, secret string) bool {
	s := &t.Spec
	return slices.ContainsFunc(s.VarsFrom, func(v infrav1.VarsReference) bool { return v.Kind == "Secret" && v.Name == secret }) ||
		slices.ContainsFunc(s.BackendConfigsFrom, func(b infrav1.BackendConfigsReference) bool { return b.Kind == "Secret" && b.Name == secret }) ||
		slices.ContainsFunc(s.ReadInputsFromSecrets, func(r infrav1.ReadInputsFromSecretSpec) bool { return r.Name == secret }) ||
		slices.ContainsFunc(s.FileMappings, func(f infrav1.FileMapping) bool { return f.SecretRef.Name == secret }) ||
		slices.ContainsFunc(s.Vars, func(v infrav1.Variable) bool { return keyOf(v.ValueFrom, secret) }) ||
		slices.ContainsFunc(s.Env, func(e corev1.EnvVar) bool { return keyOf(e.ValueFrom, secret) }) ||
		slices.ContainsFunc(s.EnvFrom, func(e corev1.EnvFromSource) bool { return e.SecretRef != nil && e.SecretRef.Name == secret })
}

func keyOf(from *corev1.EnvVarSource, secret string) bool {
	return from != nil && from.SecretKeyRef != nil && from.SecretKeyRef.Name == secret
}

// Order sorts stacks: the named ones first, in their order, then the others after those that they depend
// on, by name. Names are NAMESPACE/NAME.
func Order(stacks []infrav1.Terraform, named []string) []string {
	before := map[string][]string{}
	for i := range stacks {
		t := &stacks[i]
		name := t.Namespace + "/" + t.Name
		before[name] = nil
		for _, d := range t.Spec.DependsOn {
			before[name] = append(before[name], cmp.Or(d.Namespace, t.Namespace)+"/"+d.Name)
		}
	}
	order := slices.Clone(named)
	var visit func(name string, path []string)
	visit = func(name string, path []string) {
		needs, ours := before[name]
		if !ours || slices.Contains(order, name) || slices.Contains(path, name) {
			return // a cycle is an error of the stacks, which says so itself
		}
		for _, other := range slices.Sorted(slices.Values(needs)) {
			visit(other, append(path, name))
		}
		order = append(order, name)
	}
	names := make([]string, 0, len(before))
	for name := range before {
		names = append(names, name)
	}
	for _, name := range slices.Sorted(slices.Values(names)) {
		visit(name, nil)
	}
	return order
}
