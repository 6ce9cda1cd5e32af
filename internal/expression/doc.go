// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package expression evaluates expressions in CEL, as Flux's kinds have them, that people wrote who are not trusted with
// the server.
//
// An Expression has the language that Flux gives it: the same functions, the same variables, the same words about what is
// wrong. What it may cost is bounded beyond that: an evaluation ends with its context, and with the bytes that its texts
// may have together. A few nested calls of replace make gigabytes of a letter, faster than any context ends.
//
// The package knows no kinds and reads nothing.
package expression
