// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package migration decides whether a state may be copied to another backend, and proves that the
// copy equals it.
//
// Nouns:
//
//   - The source is the state where the stack had it, the destination what is at its new backend.
//   - A proof counts what both contain, and has a digest of it.
//
// Invariants:
//
//   - A destination with another lineage, with newer content, or with other content of the same serial
//     is never replaced. One that is an earlier part of the same migration is continued.
//   - The copy has a higher serial than the source, so that nobody can push the old one over it.
//   - Two states are equal if their resources, outputs and lineages are: the order in the file, the
//     tool's version and results of checks do not matter.
//   - The package is pure, and its errors contain no values of a state.
package migration
