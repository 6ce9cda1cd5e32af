// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package modules keeps modules from elsewhere for all stacks of a runner: each is downloaded once by source and
// version, and copied from then on.
//
// The nouns:
//
//   - A call is a source and a constraint on versions as a module writes them, and the tool that understands them.
//   - An answer says what the tool found for a call: the source and version in its own words, and which package. What a
//     call names for good (one version, one commit) stays; any other answer is good for [Recent].
//     One that led to a commit of a git repository becomes a new one when the repository still names that commit.
//   - A package is the directory that the tool made for a download, repository and all, named by its content.
//   - A record lists what a package holds, with hashes. A package counts when its record is there.
//   - A scope is what was fetched with the same credentials, by their digest. Scopes share nothing.
//
// Invariants:
//
//   - This package downloads nothing itself. Whoever calls it has the tool do so in a directory where nothing of a stack is
//     but the credentials of the scope: what a stack does in its own directory reaches no other.
//   - What leaves the store is compared with its record, byte by byte. A package that is not as it was is dropped.
//   - No link is followed, neither in a download nor in a package. Files, directories and links are kept, nothing else is.
//   - Of several who want the same at a time, in this process, one fetches it and the others wait.
//   - A process that dies at any time leaves what the next one sweeps, and nothing that counts.
//
// The package knows neither runs nor working directories, and does not read modules.
package modules
