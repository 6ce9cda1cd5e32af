// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package queue decides which of the waiting runs begins next.
//
// A run waits in a group, its namespace, and has a class: urgent if a person or a deletion waits for it,
// changed if an input changed, or drift. Higher classes come first.
//
// Invariants:
//
//   - Of two groups with runs of the highest class, the one that has had less of the runners' time
//     comes first. An idle group saves nothing: neither do 900 stacks of one group hold up three of
//     another, nor does a group that was quiet for a day get the next hour.
//   - Within a group and a class the oldest run comes first.
//   - Every run begins some day: one that has waited for a while counts as the next higher class,
//     and takes turns with runs that have that class by right.
//   - A group never has more runs at work than its limit, and one at its limit does not hold up others.
//
// The package is pure: it starts nothing, and has no clock and no locks. Callers pass the time.
package queue
