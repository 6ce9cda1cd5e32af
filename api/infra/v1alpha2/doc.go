// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha2 holds the stack's kind, Terraform, of the group infra.contrib.fluxcd.io.
//
// The kind is tofu-controller's: every field, default, condition, reason, annotation and finalizer that its users can
// observe is here under the same name. What Yuba adds is optional and marked "(Yuba)" in its comment.
//
// Nouns:
//
//   - Stack: one Terraform object, which is one root module with its variables, its workspace and its state.
//   - Program: the root module's files; from a source ([TerraformSpec.SourceRef]), or written in the object itself
//     ([TerraformSpec.Inline], or the single key hcl of [TerraformSpec.Values]).
//   - Plan id: the name people approve, such as plan-main-1a2b3c4d5e.
//
// Invariants:
//
//   - Types are data. Methods only read or fill fields; what to do about them is decided elsewhere.
//   - Every field that is decoded into a duration has a pattern, because a value that Go cannot decode would stop every
//     reader of the whole list, not only of the one object.
//   - The comments are the text of "kubectl explain terraform.spec": they say what a field does, in which unit, with
//     which default.
//
// +kubebuilder:object:generate=true
// +groupName=infra.contrib.fluxcd.io
package v1alpha2
