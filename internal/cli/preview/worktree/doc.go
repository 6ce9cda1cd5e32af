// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package worktree reads a local git repository with the user's git, and makes sources of it, as a
// GitRepository would.
//
// The nouns:
//
//   - A repository is a clone on this machine, with a working tree.
//   - A source is a packed tree: of the working tree with its changes and new files, or of a commit. It
//     has the files that the GitRepository's artifact would have: ignored ones are left out.
//   - An address identifies a repository at its host, however it is written: ssh, https, with or
//     without ".git" and a user.
//
// Invariants:
//
//   - Nothing in the repository changes: neither its index, its references nor its objects. Nothing is
//     fetched.
//   - git gets an environment that we built. It asks no questions.
//   - An address has no user and no password, so it can be shown.
package worktree
