// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the kind ApplicationDefinition of the group cozystack.io, and the names that
// the kinds which it defines have in common.
//
// Terms:
//
//   - Definition: an ApplicationDefinition. A platform team writes it.
//   - Application kind: the kind that a definition declares, in the group apps.cozystack.io.
//   - Instance: an object of an application kind. Users write it.
//   - Backend: what an instance becomes: a Terraform object (a stack) or a HelmRelease.
//
// The kind has both published shapes: spec.release of Cozystack's releases, and spec.backend, a
// union of backends. A definition has exactly one of them. Comments mark further fields with "(Yuba)".
//
// Conditions:
//
//	ApplicationDefinition  Ready      the kind is served as the definition says
//	Instance               Ready      the backend has what the spec says
//	                       Reconciling, Stalled: as those of Flux, only while True
//
// Invariants:
//
//   - Types are data. Methods only read.
//   - Nothing in a status comes from a Secret, except for outputs that are allow-listed and not
//     sensitive.
//   - The comments are the text of "kubectl explain applicationdefinition.spec".
//
// +kubebuilder:object:generate=true
// +groupName=cozystack.io
package v1alpha1
