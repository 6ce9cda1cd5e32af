// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package rotate makes, rotates and copies the secrets of an environment. Package decide says what to do,
// package keep reads and writes, and the caller runs the stacks that depend on them.
//
// Nouns:
//
//   - A keeper has the secrets of one environment: its file, its store, its copies and its dependents.
//   - A rotation's steps are those of package decide.
//
// Invariants:
//
//   - Every change is one write of the store, made on what was read; if somebody else wrote in between, it is
//     read and decided again. Copies are written after the store, before a dependent runs,
//     and before a rotation ends; only what is in the store is copied.
//   - A call first continues a rotation that was interrupted, from its last write.
//   - A dependent that fails turns the rotation back. An error that says nothing about the dependent, such as
//     an unreachable server, ends the call and leaves the rotation as it is.
//   - News, reports and errors never contain a value.
package rotate
