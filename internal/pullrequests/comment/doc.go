// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package comment writes what a pull request shows: one comment in Markdown, the status beside its head, and annotations
// at lines of files. It is pure: a report in, text out.
//
// The nouns:
//
//   - A report has all stacks that a pull request can change, with what is known of their plans.
//   - A group are stacks that change alike: they are shown once. Groups with more risk come first: errors, refusals of
//     policies, resources that are destroyed or replaced, warnings, then other changes.
//   - A style is what the forge's Markdown can do, and the limit of a comment's size.
//   - A cut is what a comment leaves out to keep the limit, in a fixed order: the text of harmless changes, then of all
//     changes, then long messages, then rows. The comment says what is left out.
//
// Invariants:
//
//   - A comment is never larger than its limit, and always contains its marker, where people do not see it.
//   - Foreign text (names, plans, messages) is only ever inside code, of which it cannot get out: it mentions nobody, is
//     no link, no HTML and no markup. Characters that are invisible or change the direction of text are shown as escapes.
//   - Equal reports have equal comments, byte for byte, so that an unchanged comment is not written again.
//
// The package does not hide secrets: plans and messages are redacted before.
package comment
