// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha2 holds the stack's kind, Terraform, of the group infra.contrib.fluxcd.io.
//
// The kind is tofu-controller's, with the same fields, defaults, conditions, reasons, annotations
// and finalizers. Yuba's additions are optional; their comments begin with "(Yuba)".
//
// Terms:
//
//   - Stack: one Terraform object: a root module with its variables, its workspace and its state.
//   - Program: the root module's files, from a source ([TerraformSpec.SourceRef]) or in the object
//     ([TerraformSpec.Inline], or the single key hcl of [TerraformSpec.Values]).
//   - Plan id: the name people approve, such as plan-main-1a2b3c4d5e.
//
// Invariants:
//
//   - Types are data. Methods only read or fill fields.
//   - Every duration has a pattern: one that Go cannot decode would fail every list request.
//   - The comments are the text of "kubectl explain terraform.spec": effect, unit and default.
//
// +kubebuilder:object:generate=true
// +groupName=infra.contrib.fluxcd.io
package v1alpha2
