// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package git fetches trees from git repositories, and pushes commits that change files.
//
// Nouns:
//
//   - An upstream is a repository's URL with its access: credentials, authorities, a proxy.
//   - A mirror is a local copy of an upstream: a bare object store on disk. All users of the same
//     upstream share it; the same URL with other credentials is another mirror.
//   - A look lists the references of an upstream. It fetches nothing.
//   - A checkout writes the tree of one commit to a directory.
//   - An edit changes files of a branch's newest commit, and pushes the commit with them. It needs no
//     checkout.
//
// Invariants:
//
//   - One look and one fetch at a time go to an upstream. Concurrent callers share them, and a
//     recent enough look is reused.
//   - A fetch requests one commit without its history and names the commits it has, so only new
//     objects are sent. If the server only serves commits that a reference points to, and another
//     commit is requested, the mirror keeps the whole history.
//   - A mirror is never trusted: every object is verified against its hash when it is read. Missing
//     or damaged objects, after a crash or with a full disk, are fetched again.
//   - Nothing is executed: no git, ssh, hook, filter or credential helper. Configuration in
//     repositories has no effect, LFS pointers stay pointers.
//   - A checkout contains files, directories and links that stay inside. Links that lead out are
//     excluded, and so are submodules unless requested. Nothing in it is named .git.
//   - Credentials go only to their host. Neither they nor URLs with a password occur in errors or
//     file names.
//   - A push never forces, and removes no commit: it names the commit that it is based on, and a
//     branch that has moved is read and changed anew, a few times. A further reference that has other
//     commits is refused.
//   - Sizes, counts and depths are limited, and everything ends with its context.
//
// The package does not know API objects. It accepts branch, tag, version range, reference name and
// commit as in Flux's GitRepository, and returns Flux's revisions.
package git
