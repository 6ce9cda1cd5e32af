// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package health finds out whether what a stack made answers.
//
// The nouns:
//
//   - A check is what a stack's author wrote: a name, how to look, and where, which may be a template over the stack's
//     outputs.
//   - A probe is a check with its place filled in. It knows the place twice: as it is, and as it may be shown.
//
// # Invariants
//
//   - What a probe says never holds the value of a sensitive output, nor what a server answered.
//   - A probe ends within its timeout.
//
// The package decides nothing: when to probe, and what follows, is the stack controller's.
package health
