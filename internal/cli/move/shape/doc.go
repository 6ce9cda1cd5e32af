// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package shape computes what objects look like at the other home.
//
// Nouns:
//   - A Kind is a kind of objects that move.
//   - The content of an object is what identifies it across homes: labels, annotations and all fields
//     but its status, as they were before a move suspended it.
//   - The wanted object is the one to write at the target. Active ones are suspended and marked.
//   - UIDs are new at the target. References to them are replaced in owners, annotations and statuses.
//
// Everything here is computed from objects; nothing is read or written.
package shape
