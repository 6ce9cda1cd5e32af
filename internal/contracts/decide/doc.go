// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package decide decides what contracts mean for stacks. It is pure: facts in, one decision out.
//
// Four questions have an answer here:
//
//   - Admit: may a contract have this version with this type? A version never changes its type, and
//     breaking changes raise the first number.
//   - Declare: may a stack consume a contract in this way? Its variable must take every value of it.
//   - Judge: does a producer's plan keep its contract? It fits, breaks (with the names of the
//     consumers and the paths that they read), or is unknown until the apply.
//   - Consume: what does a stack do now? It waits for producers, runs because a part that it reads has
//     changed, plans again because such a part moved after its plan, or does nothing.
//
// Nouns:
//
//   - A publication is a version of a contract with the value that a plan gives it. A producer may
//     have several versions side by side.
//   - A revision is a published value. Revisions of one version are numbered.
//   - A part is the digest of what a consumer reads of a revision (document.Part). Parts are compared,
//     never values: a revision that changes elsewhere starts nothing.
//   - A pin is the revision that a plan used.
//
// Invariants, which are laws in the tests:
//
//   - A plan that breaks its contract is never called fitting, whoever consumes it.
//   - A consumer is named if and only if a finding meets a path that it reads, its variable does not
//     take the type, or nothing in its range is published any more.
//   - A stack never runs while a required producer is missing.
//   - A stack runs if and only if a part that it reads differs from what it read last.
//   - A plan is kept if and only if no pinned part moved.
//   - The order of facts does not matter.
package decide
