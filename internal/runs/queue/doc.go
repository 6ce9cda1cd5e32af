// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package queue decides which of the runs that wait begins next.
//
// A run waits in a group, its namespace, and has a class: who waits for it. What is urgent, because
// a person waits for it or because an object is to go, comes before what an input changed, and that
// before what only looks for drift.
//
// Invariants:
//
//   - Of two groups that both have something of the highest class to run, the one that has had less
//     of the runners' time comes first. A group that was idle has saved nothing: it starts with the
//     others, so that neither 900 stacks of one group hold up three of another, nor a group that
//     was quiet for a day takes the next hour.
//   - Within a group and a class the oldest comes first.
//   - Nothing waits for ever: what has waited for a while counts as the next higher class, and
//     takes turns with what is of that class by right.
//   - A group never has more running than its limit, and one at its limit holds up nobody else.
//
// The package is pure: it starts nothing, reads no clock and takes no locks. Time is what its
// callers say.
package queue
