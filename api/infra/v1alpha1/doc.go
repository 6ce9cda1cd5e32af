// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the stack's kind in tofu-controller's first version, served for existing
// manifests and stored objects. Yuba works with package v1alpha2, which documents everything.
//
// Invariants:
//
//   - Both versions have the same fields, so converting an object only changes its apiVersion.
//     tofu-controller's v1alpha1 has fewer, all with the same names, types and meanings; reading
//     and writing an object under this version loses nothing.
//   - Every response for this version carries a deprecation warning.
//   - Nothing is stored as v1alpha1: stored objects are readable and become v1alpha2 when written.
//
// +kubebuilder:object:generate=true
// +groupName=infra.contrib.fluxcd.io
package v1alpha1
