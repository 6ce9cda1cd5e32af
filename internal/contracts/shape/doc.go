// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package shape holds the types of contracts and compares them.
//
// Nouns:
//
//   - A type is OpenTofu's, as a variable declares it: object({id = string, note = optional(string,
//     "none")}). Its canonical text has sorted attributes and stands on one line.
//   - A delivered value is what a contract hands to its readers: optional attributes without a
//     default may be null in it, nothing else is. Defaults are filled in.
//   - A written value is what a producer gives: it may leave out optional attributes.
//   - A difference says why some value of one type does not fit another type, and at which path.
//
// Rules:
//
//   - A type fits another one if each of its delivered values does. Conversions are those that
//     OpenTofu makes for every value: a number or boolean is also a string, a tuple or set a list,
//     an object a map. A string is never a number, although OpenTofu would try.
//   - Extra attributes are dropped, as by OpenTofu; their absence is a difference.
//   - Null fits optional attributes only.
//
// Invariants:
//
//   - Parse never takes more than limited time, depth and memory: contracts are foreign text.
//     Defaults are plain values; nothing is evaluated.
//   - Parse(t.String()) equals t.
//   - If t fits u, every delivered value of t converts to u without an error (a law in the tests,
//     checked with OpenTofu's own conversion).
//
// The package knows types only. Package conform checks values.
package shape
