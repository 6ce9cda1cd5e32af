// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package decide decides which tags of a repository become versions of which modules. It is pure:
// facts in, one decision out.
//
// Nouns:
//
//   - A rule says which tags are versions of a module: a pattern, a range.
//   - A published version is one that the registry has, whoever published it.
//   - A refusal is a tag that matches a rule and is not published, with the reason.
//   - A verdict is the result of an earlier attempt to publish a tag. It stands while the tag, its
//     commit and the published version are the same.
//
// Invariants:
//
//   - A version is published from one commit. Several tags of one version with different commits are
//     all refused, unless one of them is published already.
//   - A version that came from the tag's commit of the same repository is not published again.
//   - The versions of a module are published in ascending order: each is compared with the one
//     before.
//   - The order of the tags does not matter.
package decide
