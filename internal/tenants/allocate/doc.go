// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package allocate gives each tenant a unique small integer: numbers of Redis databases, ports,
// indices of networks.
//
// Terms:
//
//   - Pool: a name under which a registry's templates request integers. A pool exists from the
//     first request.
//   - Owner: the uid that has an integer. All templates of one registry give an owner the same
//     integer of a pool, so one can use what another creates.
//   - Range: the smallest and the largest integer that a template accepts.
//
// Invariants:
//
//   - Two owners never have the same integer of a pool.
//   - An owner keeps its integer for life, whatever ranges are requested later: its data depends on
//     it.
//   - A new owner gets the smallest free integer of the range. So the same requests, in the same
//     order, have the same results.
//   - A full pool is an error of the request only.
//
// Allocations are recorded elsewhere, in Tenants; [Pools.Keep] restores them.
package allocate
