// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// References lists what a stack reads, for the index.
func References(t *infrav1.Terraform) []string {
	var refs []string
	add := func(kind, namespace, name string) {
		if name != "" {
			refs = append(refs, kind+"/"+namespace+"/"+name)
		}
	}
	spec := &t.Spec
	if spec.SourceRef != nil {
		add(spec.SourceRef.Kind, t.SourceNamespace(), spec.SourceRef.Name)
	}
	// The outputs Secret is only written, but a foreign Secret of its name is in the way until it
	// goes.
	if spec.WriteOutputsToSecret != nil {
		add("Secret", t.Namespace, spec.WriteOutputsToSecret.Name)
	}
	for _, v := range spec.VarsFrom {
		add(v.Kind, t.Namespace, v.Name)
	}
	for _, b := range spec.BackendConfigsFrom {
		add(b.Kind, t.Namespace, b.Name)
	}
	for _, s := range spec.ReadInputsFromSecrets {
		add("Secret", t.Namespace, s.Name)
	}
	for _, f := range spec.FileMappings {
		add("Secret", t.Namespace, f.SecretRef.Name)
	}
	if ref := spec.CliConfigSecretRef; ref != nil {
		add("Secret", cmp.Or(ref.Namespace, t.Namespace), ref.Name)
	}
	for _, v := range spec.Vars {
		addValueFrom(add, t.Namespace, v.ValueFrom)
	}
	env, envFrom := spec.Env, spec.EnvFrom
	if pod := spec.RunnerPodTemplate; pod != nil {
		env, envFrom = slices.Concat(pod.Spec.Env, env), slices.Concat(pod.Spec.EnvFrom, envFrom)
	}
	for _, e := range env {
		addValueFrom(add, t.Namespace, e.ValueFrom)
	}
	for _, e := range envFrom {
		if e.SecretRef != nil {
			add("Secret", t.Namespace, e.SecretRef.Name)
		}
		if e.ConfigMapRef != nil {
			add("ConfigMap", t.Namespace, e.ConfigMapRef.Name)
		}
	}
	return refs
}

func addValueFrom(add func(kind, namespace, name string), namespace string, from *corev1.EnvVarSource) {
	switch {
	case from == nil:
	case from.SecretKeyRef != nil:
		add("Secret", namespace, from.SecretKeyRef.Name)
	case from.ConfigMapKeyRef != nil:
		add("ConfigMap", namespace, from.ConfigMapKeyRef.Name)
	}
}
