// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package workspace is a stack's working directory, WORKROOT/NAMESPACE/NAME.
//
// # Terms
//
//   - An [Area] holds the working directories of all stacks, each with a lock. A [Workspace] is one of them in use.
//   - The [Record] is what is known of a directory between runs: whose it is, which source is unpacked, and what init left.
//   - A [Root] is the directory as the runner accesses it. Its program places belong to the program's user.
//   - A [Plan] is in custody: copied to where the program can only read it, with its digest.
//   - [Artifacts] and [Trees] keep the latest archives and unpacked sources for all stacks.
//
// # Invariants
//
//   - The directory's path never changes, and one run at a time works in it.
//   - No link leads out of it: whatever tofu can write to is read through a Root, and special files are not opened.
//   - The tree is the artifact's, or the part of it that the stack reads. What was added to it is removed; when something
//     was changed it is unpacked again. States of the stack's own local backend are kept.
//   - What init left, and what making a plan made, counts only if lists that programs cannot reach say that nothing has
//     changed since.
//   - A plan in custody is used only with the digest and the stamp that it had when it was copied.
//   - The new user of a directory is recorded before any file belongs to it.
//   - Nothing that holds secrets stays after a run, but the states of a backend of the stack's own.
package workspace
