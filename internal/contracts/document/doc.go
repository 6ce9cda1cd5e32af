// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package document reads, projects and writes the values of contracts.
//
// Nouns:
//
//   - An output is a value of a producer: planned, from output_changes of `tofu show -json PLAN`, or
//     published, from `tofu output -json` or a state. A planned one may be unknown in part.
//   - A projection is the part of a value that a consumer reads.
//   - The canonical form is the JSON that is hashed and kept.
//
// # Canonical JSON
//
// As RFC 8785 (JCS), with one exception:
//
//   - no white space;
//   - members of objects and maps sorted by the UTF-16 code units of their names;
//   - in strings only quotes, backslashes and control characters are escaped, as \" \\ \b \t \n \f
//     \r or \u00xx; all others stand for themselves, in UTF-8 and Unicode's form NFC;
//   - numbers as OpenTofu writes them, with all digits and without an exponent (JCS would round
//     12345678901234567890 to a double);
//   - sets in OpenTofu's order, and null as it is.
//
// A digest is "sha256:" and the hexadecimal SHA-256 of these bytes. So equal values have equal
// digests, however a provider or a person ordered and wrote them.
//
// Invariants:
//
//   - Foreign JSON is limited in depth and in the size of its numbers before it is read.
//   - Canonical of what Canonical wrote is the same text.
//   - The projection of everything is the value. A projection does not depend on anything outside of
//     its paths (a law in the tests).
//   - An unknown value has no canonical form: there is an error, never a guess.
package document
