// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package diff tells what applying a build would change.
//
// The nouns:
//
//   - A change is what would become of one object: it is created, configured,
//     deleted, skipped or stays unchanged.
//   - A field is a place in an object with its value before and after.
//
// Invariants:
//
//   - The API itself is asked, by applying every object with server-side
//     apply as a dry run, so that defaults, admission and the fields of others
//     are what they would be.
//   - Nothing is changed.
//   - Values of Secrets are never in an answer, only that they differ.
//
// The package decides nothing: it is for people who look before they commit.
package diff
