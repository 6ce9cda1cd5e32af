// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package diff shows what applying a build would change, before a commit.
//
// Nouns:
//
//   - A change is the effect on one object: created, configured, deleted, skipped or unchanged.
//   - A field is a path in an object with its value before and after.
//
// Invariants:
//
//   - The result is that of a server-side apply as a dry run, including defaults, admission and
//     fields of other owners.
//   - Nothing is changed.
//   - The result contains no values of Secrets, only which ones differ.
package diff
