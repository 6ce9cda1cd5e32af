// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package expression evaluates the CEL expressions of Flux's kinds, whose authors are not trusted
// with the server.
//
// An Expression has the language, functions, variables and error messages of Flux. In addition, its
// cost is limited:
//
//   - An evaluation ends with its context, between any two calls.
//   - An evaluation has a purse. Calls pay for copied text, and in advance for everything that they
//     compare, format or search. A list or map costs as much as its written form: one that contains
//     another twice costs twice as much, although it takes no more memory. Evaluation stops when
//     the purse is empty.
//   - Types are measured before they are checked, because the checker writes them out, too.
//
// The package does not know kinds and reads nothing.
package expression
