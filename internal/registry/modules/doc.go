// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package modules stores modules of other origins for all stacks of a runner: each is downloaded
// once by source and version, and copied from then on.
//
// Nouns:
//
//   - A call is a source and a version constraint as a module writes them, and the tool that
//     interprets them.
//   - An answer is the tool's result for a call: source and version in the tool's notation, and the
//     package. An answer for one version or one commit never expires; any other is valid for
//     [Recent]. An answer that led to a commit of a git repository is renewed if the repository
//     still has that commit for the call.
//   - A package is the directory that the tool created for a download, the whole repository
//     included, named by its content.
//   - A record lists the content of a package with hashes. A package without a record does not
//     count.
//   - A closure describes all modules of other origins that a program calls: whether they can change,
//     and what they may read.
//   - A scope contains what was fetched with the same credentials, by their digest. Scopes share
//     nothing.
//
// Invariants:
//
//   - This package downloads nothing itself. Its caller lets the tool download, in a directory that
//     contains nothing of a stack but the credentials of the scope, so a stack's own directory
//     cannot affect others.
//   - Everything that leaves the store is compared with its record, byte by byte. A changed package
//     is dropped.
//   - Links are never followed, neither in a download nor in a package. Only files, directories and
//     links are stored.
//   - Of several concurrent requests in this process for the same module, one fetches it and the
//     others wait.
//   - A process that dies at any time leaves only files that do not count, and the next one removes
//     them.
//
// The package does not know runs or working directories.
package modules
