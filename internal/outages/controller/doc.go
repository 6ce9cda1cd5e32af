// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package controller keeps CircuitBreaker objects in step with package circuits and notifies stacks.
//
// The Keeper answers the stack controller from memory, so that reconciliations never wait. Its own
// loop does timed work, writes objects, records events and wakes the concerned stacks.
//
// # Invariants
//
//   - The objects are the storage: circuits stay open when the server restarts.
//   - An object is written at most twice a second, however many stacks fail.
//   - There is an event when a circuit breaker opens, when stacks of further namespaces have the
//     failure, and when it closes. All those namespaces get it, so it contains no names of stacks
//     and no output of tools.
//   - People direct a circuit breaker in its spec. Deleting it ends the outage; it may open again.
//
// Package decide decides for each stack.
package controller
