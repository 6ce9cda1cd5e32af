// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package preview has the commands that plan what is not pushed or not merged yet: "yuba preview" on a
// laptop, and "yuba ci" in a job. The plans are speculative: nothing can be applied, locked or recorded.
//
// The nouns:
//
//   - One is a preview of a stack with a directory in place of its source. It shows the log and the plan,
//     as tofu does.
//   - A change is what differs between the revision that a GitRepository has and a local tree: the
//     working tree with its new files, or a commit.
//   - The target is the branch that the change will be merged to. GitRepositories of other branches, of
//     tags and of commits do not follow it.
//   - A survey is a preview of all stacks that the change can change, by content (internal/pullrequests/
//     discover), with what is not planned, and why.
//   - Annotations are the problems of a survey at lines of files, in the format of a forge.
//
// Invariants:
//
//   - A stack that follows the repository and is not planned has the same content before and after, or
//     is listed with the reason.
//   - Plans are shown as the server redacts them. Credentials come from the environment or files, never
//     from arguments, and are never printed.
//   - The exit code says the worst that was found; see "yuba help exit-codes".
package preview
