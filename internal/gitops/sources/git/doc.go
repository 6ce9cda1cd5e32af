// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package git fetches trees from git repositories.
//
// The nouns:
//
//   - An upstream is a repository's URL together with what it is asked with: credentials, authorities, a proxy.
//   - A mirror is what this machine keeps of an upstream: a bare object store on disk. Everybody who names the same
//     upstream shares it; the same URL asked with other credentials is another mirror.
//   - A look asks an upstream which references it has. It fetches nothing.
//   - A checkout puts the tree of one commit into a directory.
//
// Invariants:
//
//   - One look and one fetch at a time go to an upstream. Callers that come meanwhile share them, and a look that is
//     young enough for the caller is not repeated.
//   - A fetch asks for one commit without its history and names the commits that are there, so that only new objects
//     travel. Where a server gives out no commit but those that references name, and another one is asked for, the whole
//     history is kept beside.
//   - A mirror is never trusted: every object is checked against its hash when it is read. What is missing or damaged,
//     because the machine died or the disk is full, is thrown away and fetched anew.
//   - Nothing is run: no git, no ssh, no hook, no filter, no helper for credentials. Configuration in repositories has no
//     effect, pointers to large files stay pointers.
//   - A checkout has files, directories and links that stay inside; links that lead out of it are left out, and so are
//     repositories inside of it unless they were asked for. Nothing in it is named .git.
//   - Credentials go to the host they are for. Neither they nor URLs with a password are in errors or names of files.
//   - Sizes, counts and depths are bounded, and everything ends with its context.
//
// The package knows no API objects. It takes branch, tag, range of versions, name of a reference and commit as Flux's
// GitRepository has them and answers with Flux's revisions.
package git
