// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package meter measures what runs take of the machine, and ends those that take too much before others notice.
//
// # Terms
//
//   - A [Subject] is a run that is measured: all processes that its programs started, its directories, and the states that
//     it keeps in memory.
//   - The kernel's limits hold for one process and leave room above the measured ones, so that the meter can say which
//     limit was exceeded.
//   - The reserve is what runs leave to the server on each disk.
//
// # Invariants
//
//   - What has to end is decided purely, by judge, from measurements: first runs over their own limits, then the
//     heaviest of those that are over a limit together. A run that is being ended no longer counts.
//   - A run is asked to stop once, by a signal to its tofu, so that tofu can store its state. What the run has started is
//     killed only if waiting would harm others, and tofu only for memory.
//   - A full disk ends a run only if that run's growth explains it.
//   - Runs that are shorter than the interval cost nothing.
package meter
