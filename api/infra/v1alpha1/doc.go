// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the stack's kind under the version that tofu-controller had first. It is served so that manifests and
// stored objects of that version go on; nothing of Yuba works with it. Everything that it says is in package v1alpha2.
//
// Invariants:
//
//   - The two versions have the same fields. tofu-controller's v1alpha1 has fewer, all of them with the names, types and
//     meanings that they have in v1alpha2, so that an object is converted by giving it the other version's name. Since no
//     field is missing here, an object that is read and written back under this version loses nothing.
//   - Every answer that has to do with this version carries a warning: it is deprecated.
//   - Nothing is stored as v1alpha1 any more. What was is read as it is, and becomes v1alpha2 when it is written next.
//
// +kubebuilder:object:generate=true
// +groupName=infra.contrib.fluxcd.io
package v1alpha1
