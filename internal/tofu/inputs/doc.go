// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package inputs resolves the inputs that a stack passes to tofu besides its program.
//
// Nouns:
//
//   - Inputs are the values of variables, the environment, and the objects they come from.
//   - A reference is a Secret or ConfigMap that a stack names, whether or not it exists: its change
//     triggers a reconciliation.
//   - A value is text that cannot be printed accidentally: it prints as a mask, and only Reveal
//     returns it.
//   - The backend is the part of an override file that says where the state is.
//
// Invariants:
//
//   - Later sources override earlier ones: values, then vars, then varsFrom in order; for the
//     environment envFrom in order, then env.
//   - All problems are reported together in one *Error, and the references are returned with it.
//   - The digest covers names and values in a canonical form, so equal inputs have equal digests
//     whatever objects they come from.
//   - Errors, warnings and log lines never contain a value.
//   - A tenant's stack does not read an object that is labelled as another tenant's, whichever
//     field names it.
//
// The package does not know what the module declares (package module does) and stores nothing.
package inputs
