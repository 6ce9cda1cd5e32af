// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package decide decides what to do for a platform, and what its status says. It is pure: facts in, one decision
// out.
//
// Nouns:
//
//   - A step is what the blueprint wants: one stack (package plan).
//   - A sight is what a stack of the API says about itself.
//   - A sight is ours if it has the label of the platform. Others are never changed.
//
// Invariants, which are laws in the tests:
//
//   - Nothing is made or removed while the blueprint has a problem, another platform or somebody else's stack has
//     one of its names, or a Secret that it names is missing. Suspending reaches the stacks nevertheless, and a
//     decommission removes our stacks also if another platform has the DNS name.
//   - The server's record decides which platform has a DNS name. Nothing that another platform says about itself takes it
//     away: for an hour from one that makes nothing, and for good from one that has begun.
//   - Only our stacks are removed, and only those that no step wants.
//   - A platform is ready only if each step has a ready stack, and nothing is left to remove.
//   - Times in the status only appear; they never change, unless the stack is another one.
package decide
