// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package graph orders stacks by what they consume.
//
// Nouns:
//
//   - An edge leads from a producer to a consumer of one of its contracts.
//   - A cycle is a chain of stacks that ends where it began. It is refused when it is declared.
//   - A wave is a set of stacks none of which consumes from another one of them. The first wave
//     consumes from nobody; each later one only from earlier ones, as early as possible.
//   - The cone of a stack is all that could run when it changes: its consumers, theirs, and so on.
//
// Invariants: results depend on the edges only, not on their order; each stack is in exactly one
// wave, after all of its producers; names in a cycle stand in the order of the edges, and begin with
// the smallest.
package graph
