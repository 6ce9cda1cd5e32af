// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package decide has the rules of planning pull requests. It is pure: facts in, one decision out.
//
// The nouns:
//
//   - The head is the commit that a pull request asks to merge. Plans are of exactly one head: a push
//     supersedes them.
//   - A member is somebody who may write to the repository at the forge.
//   - A review counts if a member other than the author approved the planned head, after all plans were shown.
//   - Shown are the changes that the comment had of a stack, as the digest of its plan.
//
// Invariants:
//
//   - The code of a fork is planned only for a head that a member has allowed by a command.
//   - What is not for this planner, conflicts or closed is not planned.
//   - A plan after a merge is approved only if it is of the merge commit, the review counts, its changes are the
//     shown ones, and the stack's files are those of the planned head.
package decide
