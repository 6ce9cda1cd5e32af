// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// TestFieldsOfStacks builds a stack from its Go type, which detects wrong field names here.
func TestFieldsOfStacks(t *testing.T) {
	named := func(name string) *corev1.SecretKeySelector {
		return &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: "k"}
	}
	from := func(name string) corev1.EnvFromSource {
		return corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}
	}
	s := &infrav1.Terraform{
		TypeMeta:   metav1.TypeMeta{APIVersion: infrav1.GroupVersion.String(), Kind: infrav1.Kind},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: "x"},
		Spec: infrav1.TerraformSpec{
			SourceRef:             &infrav1.CrossNamespaceSourceReference{Kind: infrav1.SourceKindGitRepository, Name: "source", Namespace: "flux"},
			DependsOn:             []meta.NamespacedObjectReference{{Name: "depends"}, {Name: "far", Namespace: "other"}},
			Vars:                  []infrav1.Variable{{Name: "a", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: named("vars")}}},
			VarsFrom:              []infrav1.VarsReference{{Kind: "Secret", Name: "vars-from"}, {Kind: "ConfigMap", Name: "perhaps", Optional: true}},
			Env:                   []corev1.EnvVar{{Name: "A", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: named("env")}}},
			EnvFrom:               []corev1.EnvFromSource{from("env-from")},
			ReadInputsFromSecrets: []infrav1.ReadInputsFromSecretSpec{{Name: "reads", As: "r"}},
			FileMappings:          []infrav1.FileMapping{{SecretRef: meta.SecretKeyReference{Name: "files"}}},
			BackendConfigsFrom:    []infrav1.BackendConfigsReference{{Kind: "ConfigMap", Name: "backend"}},
			CliConfigSecretRef:    &corev1.SecretReference{Name: "cli"},
			WriteOutputsToSecret:  &infrav1.WriteOutputsToSecretSpec{Name: "outputs"},
		},
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: fields}
	var got []string
	for _, r := range references(u) {
		text := r.String()
		if r.ready {
			text += " ready"
		}
		got = append(got, text)
	}
	want := []string{
		"Namespace shops ready", "GitRepository flux/source", "Terraform shops/depends ready", "Terraform other/far ready", "Secret shops/vars", "Secret shops/env", "Secret shops/env-from",
		"Secret shops/vars-from", "ConfigMap shops/backend", "Secret shops/reads", "Secret shops/files", "Secret shops/cli",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var provided []string
	for _, r := range provides(u) {
		provided = append(provided, r.String())
	}
	if diff := cmp.Diff([]string{"Terraform shops/x", "Secret shops/outputs"}, provided); diff != "" {
		t.Error(diff)
	}
}
