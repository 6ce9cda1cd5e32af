// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package row interprets the rows of a registry: which tenant each is about, whether it is active,
// and its values for templates.
//
// Terms:
//
//   - Raw row: column names with their texts; nil is NULL.
//   - Uid: the registry's name of a tenant. The raw uid is the value of the column. The safe uid is
//     valid in names and labels.
//   - Extra: the values that a registry maps in addition to the three that every tenant has.
//   - Rejected row: a row that is not valid for a tenant, with the reason.
//
// Invariants:
//
//   - The same rows give the same result, in the order of the rows.
//   - A raw uid always has the same safe uid. Different raw uids have different safe uids, also
//     chosen by an attacker.
//   - A rejected row means nothing for its tenant: do not conclude that the tenant's row is gone.
//   - NULL is the empty text. A row with an empty address is valid.
//
// The package does not read rows; package database does.
package row
