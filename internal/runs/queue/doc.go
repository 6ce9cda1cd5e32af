// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package queue decides which of the waiting runs begins next.
//
// A run waits in a group, its namespace, and has a class: urgent if a person or a deletion waits
// for it, changed if an input changed, review if it is a speculative plan, or drift. Higher classes
// come first.
//
// Invariants:
//
//   - Of two groups with runs of the highest class, the one that has used less of the runners' time
//     comes first. An idle group saves up nothing: 900 stacks of one group do not delay three of
//     another, and a group that was idle for a day does not get the whole next hour.
//   - Within a group and a class the oldest run comes first.
//   - No run starves: one that has waited for a while counts as the next higher class, and takes
//     turns with runs that really have that class. Reviews are the exception: they never come before
//     a run that may change something, however long they wait.
//   - There are never more executing reviews than their bound, so that a run that may change something
//     does not wait for the end of one.
//   - A group never has more executing runs than its limit, and one at its limit does not delay
//     others.
//
// The package is pure: it starts nothing, and has no clock and no locks. Callers pass the time.
package queue
