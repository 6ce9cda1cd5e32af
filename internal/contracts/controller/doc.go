// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package controller connects contracts with the stacks that publish and consume them.
//
// Nouns:
//
//   - A book answers questions about contracts from the cache of the API: what a stack reads, whether
//     a plan keeps its contracts, what to publish after an apply.
//   - A keeper is the controller of the kind Contract: it admits versions, sums up what is published,
//     and wakes the stacks that a change concerns.
//   - An edition is a version of a contract that was admitted. Stacks only see editions, never a spec
//     that was not admitted.
//
// Invariants:
//
//   - A version that was admitted keeps its type. If its contract is deleted and declared again with
//     another type, what was published is neither read nor continued by that type. A contract whose spec is refused still has its
//     earlier versions.
//   - A stack sees contracts of another namespace only if they grant it. Otherwise it learns no more
//     than that there may be none.
//   - No value is in a status, an event or a log. Findings about values name paths and types.
//   - What is applied and does not fit is not published: consumers keep the last revision.
//   - A version that a consumer needs is not retired, except by an apply that destroys everything.
//   - Answers read the cache's indexes, and never list all stacks.
package controller
