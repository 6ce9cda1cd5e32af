// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package workspace is a stack's working directory, WORKROOT/NAMESPACE/NAME.
//
// # Terms
//
//   - An [Area] has all working directories, each with a lock. A [Workspace] is one in use.
//   - The [Record] describes a directory between runs: owner, source, and result of init.
//   - A [Root] is the runner's access to the directory. Places of the program belong to its user.
//   - A [Plan] is in custody: a copy that the program can only read, with its digest.
//   - [Artifacts] and [Trees] keep the latest archives and unpacked sources for all stacks.
//
// # Invariants
//
//   - The directory's path never changes, and one run at a time works in it.
//   - Links cannot leave it: the runner reads program places through a Root, no special files.
//   - The tree is the artifact, or the part of it that the stack reads. The runner removes added
//     files, and unpacks again after changes. It keeps the states of a local backend.
//   - A run uses files of init, or of planning, only if lists that programs cannot reach show that
//     they are unchanged.
//   - A plan in custody is used only if its digest and stamp are unchanged.
//   - The new user of a directory is recorded before it owns any file.
//   - No secrets stay after a run, except the states of a custom backend.
package workspace
