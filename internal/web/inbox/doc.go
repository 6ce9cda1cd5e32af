// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package inbox shows everything that needs a person, over all stacks: plans that wait, prunes and
// tenant deletions that are held, stacks that wait for manual work, outages, and runs that failed
// since the person last looked.
//
// Nouns:
//
//   - An [entry] is one thing to decide. Plans that change the same are one entry that opens: they
//     have the same normalised diff, status.plan.changesDigest. Failures with one cause are one, too.
//   - A section is a list of entries of one kind, at most [maxEntries].
//   - A confirmation shows, before many stacks are acted on, what will happen to each, and which ones
//     cannot be acted on. Its form names the plan and the digest of each.
//   - The result says what came of each. This process remembers the last ones.
//
// What failed before the person said that they have seen it is folded away. The browser remembers the
// time in a cookie.
package inbox
