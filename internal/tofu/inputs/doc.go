// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package inputs resolves what a stack gives to tofu beside its program.
//
// The nouns:
//
//   - Inputs are the values of variables, the environment, and what they were
//     read from.
//   - A reference is a Secret or ConfigMap that a stack names, whether or not
//     it exists: its change is a reason to look again.
//   - A value is text that does not show itself: it prints as a mark and is
//     read with Reveal only.
//   - The backend is what an override file says about where the state is.
//
// Invariants:
//
//   - Later sources win: values, then vars, then varsFrom in their order; for
//     the environment envFrom in its order, then env.
//   - Whatever is missing or wrong is reported together, in one *Error, and the
//     references are returned nevertheless.
//   - The digest covers names and values in a canonical form, so equal inputs
//     have equal digests whatever objects they come from.
//   - No error, warning or log line contains a value.
//   - A stack of one tenant reads no object that is labelled as another's, by
//     whichever field it is named.
//
// The package does not know what the module declares (package module does) and
// keeps nothing.
package inputs
