// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/speculative"
)

// as replaces the credentials of a stack by those of a speculative plan. Variables and settings of the backend stay: without
// them there is no plan.
func as(spec *infrav1.TerraformSpec, id *speculative.Identity) {
	spec.Env, spec.EnvFrom = withoutSecrets(spec.Env, spec.EnvFrom)
	if pod := spec.RunnerPodTemplate; pod != nil {
		pod.Spec.Env, pod.Spec.EnvFrom = withoutSecrets(pod.Spec.Env, pod.Spec.EnvFrom)
	}
	spec.FileMappings = slices.DeleteFunc(spec.FileMappings, func(m infrav1.FileMapping) bool { return m.Location == infrav1.FileLocationHome })
	for _, name := range id.Secrets {
		spec.EnvFrom = append(spec.EnvFrom, corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}})
	}
	spec.ServiceAccountName = id.ServiceAccount
	if id.ServiceAccount == "" {
		spec.IdentityTokens = nil
	}
}

func withoutSecrets(env []corev1.EnvVar, from []corev1.EnvFromSource) ([]corev1.EnvVar, []corev1.EnvFromSource) {
	env = slices.DeleteFunc(env, func(e corev1.EnvVar) bool { return e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil })
	return env, slices.DeleteFunc(from, func(e corev1.EnvFromSource) bool { return e.SecretRef != nil })
}
