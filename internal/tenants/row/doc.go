// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package row says what the rows of a registry mean: which tenant each is about, whether it is active, and which values
// templates have of it.
//
// Nouns:
//
//   - Raw row: names of columns with their texts; nil is NULL.
//   - Uid: what the registry calls a tenant. The raw uid is what the column has. The safe uid is fit for names and labels.
//   - Extra: the values that a registry maps beside the three that every tenant has.
//   - Rejected row: one that no tenant can be made of, and why.
//
// Invariants:
//
//   - The same rows give the same result, in the order of the rows.
//   - A raw uid has one safe uid for ever. Different raw uids have different safe uids, whoever chooses them.
//   - A rejected row says nothing about its tenant. Whoever has one must not conclude that the tenant is gone.
//   - NULL is the empty text. An empty address is no reason to leave a row out.
//
// It does not read rows; package rows does.
package row
