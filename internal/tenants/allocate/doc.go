// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package allocate gives tenants small integers that nobody else has: numbers of Redis databases, ports, indices of networks.
//
// Nouns:
//
//   - Pool: a name under which a registry's templates ask for integers. A pool is there as soon as somebody asks.
//   - Owner: the uid whose integer it is. Templates of one registry give an owner the same integer of a pool: what one of
//     them creates, another one can use.
//   - Range: the smallest and the largest integer that a template wants.
//
// Invariants:
//
//   - Two owners never get the same integer of a pool.
//   - An owner keeps its integer as long as it lives, whatever range templates ask for later: its data lies there.
//   - Otherwise it gets the smallest one of the range that is free. So the same questions, in the same order, have the same
//     answers.
//   - A full pool is an error of the one who asks, and of nobody else.
//
// What owners have is written down elsewhere, in their Tenants; this package is told so with [Pools.Keep].
package allocate
