// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package revisions stores the values that stacks have published as contracts.
//
// Nouns:
//
//   - A producer is a stack, by the UID with which its digests are salted, and the name of one of
//     its contracts.
//   - A revision is one published value. Revisions of a producer are numbered, over all versions.
//   - The history lists the revisions of a producer without their values.
//
// Invariants:
//
//   - A value is stored before the history names it, so a reader finds a complete revision or none.
//   - Publishing a value that is equal to the last one of its version makes no revision.
//   - The last revision of each version stays; older ones go once there are more than [Kept].
//   - Values are encrypted at rest, as are states: all of them may have private parts. Digests of
//     values with private parts are keyed, because a short password could be guessed from a plain
//     one.
//
// There is one writer: the server that leads.
package revisions
