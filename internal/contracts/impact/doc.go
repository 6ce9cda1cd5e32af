// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package impact computes which stacks read what others produce, and which of them run when one
// changes: the blast radius of a decision. It is pure; objects and plans are its facts.
//
// Nouns:
//
//   - An edge leads from a producer to a consumer: through a contract, through a Secret with outputs,
//     or through dependsOn. Only the first two start runs; dependsOn is an order.
//   - A change is what a plan does to outputs. Without one, every output may change.
//   - A reached stack runs, may run, or rests. It may run if what it reads is unknown until the
//     apply, is sensitive, or comes from a stack that itself has yet to run.
//
// Invariants, which are laws in the tests:
//
//   - A stack that reads a part that the change alters never rests.
//   - A stack rests only if all that it reads of the change is known to stay.
//   - Each reached stack is in one level, behind all reached stacks that it reads from, unless they
//     form a cycle.
//   - The order of objects does not matter.
package impact
