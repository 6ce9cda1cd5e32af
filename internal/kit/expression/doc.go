// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package expression evaluates CEL expressions, as Flux's kinds have them, whose authors are not trusted with the server.
//
// An Expression has the language, the functions, the variables and the error messages that Flux gives it. Its cost is
// bounded beyond that:
//
//   - An evaluation ends with its context, between any two calls.
//   - An evaluation has a purse. Calls pay for the text they copy, and for everything they compare, format or search, before
//     they start. A list or map weighs what it holds when it is written out: one that holds another twice weighs twice as
//     much, although it takes no more memory. Evaluation stops when the purse is empty.
//   - Types are measured before they are checked, because the checker writes them out as well.
//
// The package knows no kinds and reads nothing.
package expression
