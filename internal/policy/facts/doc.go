// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package facts computes the document that policies judge: what a run would do, made of what, and
// at whose request.
//
// Terms:
//
//   - The document is versioned JSON, [APIVersion]. Built-in rules, CEL and Rego read the same one.
//   - Facts are derived from the plan (`tofu show -json`), the configuration in it, the dependency
//     lock file, the list of installed modules, the arguments of the plan, and what the caller says
//     about the stack, the run and its contracts.
//   - A mark stands for a value that is not in the document: {"$unknown":true} for one that is known
//     after the apply only, {"$sensitive":true} for one that must not be shown. Keys of values that
//     begin with "$" get another one.
//
// Invariants:
//
//   - No sensitive value is in the document: none that the plan marks, none of a sensitive variable
//     or output, none that the caller's masker knows, wherever else it occurs.
//   - An unknown attribute is there, as a mark. It is never absent.
//   - An action that this version does not know stays in the document as it is, so that rules can
//     refuse it.
//   - Memory and time are linear in the plan. What no rule needs (planned_values, the attributes in
//     prior_state) is skipped without decoding.
//   - Foreign bytes never cause a panic. A document that is incomplete is an error, never a shorter
//     document.
//
// The package is pure: it reads no files, asks nobody and has no clock.
package facts
