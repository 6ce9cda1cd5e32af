// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package forge has the nouns of code review, and what Yuba asks of the servers that host it.
//
// The nouns:
//
//   - A forge is a server that hosts repositories and reviews: Gitea, Forgejo, GitHub, GitLab,
//     Bitbucket (cloud and data center) and Azure DevOps.
//   - A repository is one of a forge's. A Forge value is a connection about exactly one repository.
//   - A pull request asks to merge a head into a base. GitLab calls it a merge request. A fork is a
//     pull request whose head is in another repository.
//   - A status is the result that a forge shows beside a commit, under a name (the context).
//   - A comment is text below a pull request. Yuba finds its own comment by a marker in it and by
//     its author, and edits it in place.
//   - A review is one person's approval, or request for changes.
//   - A right is what a person may do in the repository.
//
// Invariants:
//
//   - Every failure is one of the types in errors.go, or a context's error. Each says what was
//     attempted at which repository; none contains a credential, nor more of a response than a
//     short message of the forge, made printable.
//   - Writes can be repeated: an equal status is not added again, and a comment is edited only if
//     its text differs.
//   - Nothing is retried here. A forge that limits requests is not asked again before its time.
//   - Lists have limits, and say whether they are complete.
//   - Credentials are sent only to the scheme, host and port of the configured API.
//
// Names, titles and texts are whatever people wrote: whoever shows them escapes them.
//
// The package wire has the HTTP of all forges, each forge has a package of its own, and dial opens
// one. The clients are our own: go-github, GitLab's client-go and Gitea's sdk would add 4.6, 3.1 and
// 1.7 MB to the program, for about fifteen calls each.
package forge
