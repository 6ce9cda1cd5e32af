// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package refactorfile reads files that say how states are to be rearranged: those of Yuba, and those of
// tfmigrate.
//
// Nouns:
//
//   - A file has blocks. Yuba's are move, remove, replace_provider, import and expect; tfmigrate's are
//     migration "state" and migration "multi_state". One file may have both.
//   - A reference names a state in a file: the name of a stack, or, in tfmigrate's blocks, a directory.
//     [File.Resolve] makes names of stacks of both.
//   - Expected are the changes that a stack's plan may and must have afterwards.
//
// Invariants:
//
//   - The package is pure: the text of a file in, steps of package moves out.
//   - Nothing of a file is ignored: an unknown block, attribute or action is an error with its line.
//   - Expressions are constants or addresses. Functions and variables are refused.
package refactorfile
