// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package acts does what people decide about stacks, as them, for all pages that offer it: it foresees
// what a verb will do, checks that the stack is still as they saw it, does it, and says what came of it.
//
// Nouns:
//
//   - A [Verb] is what is done.
//   - A [Row] is a stack as a person saw it: with the id and the digest of the plan.
//
// Invariants:
//
//   - A plan is approved or rejected only if it is the one with the id and the bytes that the person saw.
//   - If others decided first, nothing is changed, and the person is told who and what.
//   - A comment is kept where the decision is: approvals that policies ask for have it in the audit log,
//     all others in the annotation yuba.dev/decision of the stack.
package acts
