// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package controller keeps the objects of the kind CircuitBreaker in step with what package book sees, and tells the
// stacks of it.
//
// The Keeper is asked and told by the controller of stacks, whose passes must not wait: it answers from memory. A loop of its
// own does what is due by time, writes the objects, records the events and wakes the stacks that a change concerns.
//
// # Invariants
//
//   - The objects are the memory: what is open when the server ends is open when it starts again.
//   - An object is written at most twice a second, however many stacks fail.
//   - An event is recorded when a circuit breaker opens, when stacks of further namespaces turn out to fail alike, and when
//     it closes. No event names a stack or repeats what a tool has said, for alerts of all concerned namespaces are told.
//   - What people want of an object is in its spec. Whoever deletes one ends that outage; it may be seen again.
//
// It does not decide what stacks do; that is package decide's.
package controller
