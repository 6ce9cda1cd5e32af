// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package cause finds what the failures and the drift of many stacks have in common, so that forty
// stacks with one problem are one row.
//
// Nouns:
//
//   - A [Cause] is a failure without what differs between stacks: the resource's type, and the tool's
//     error text without names, ids, numbers, paths and addresses. Of drift, it is the types and
//     attributes that differ, and in which way.
//   - A [Group] is a cause with the stacks that have it.
//
// The package is pure, and reads only the message of the condition Ready: no page that shows causes
// reads runs or plans. Messages are foreign text; what cannot be read is a cause of its own.
package cause
