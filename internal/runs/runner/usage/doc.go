// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package usage measures the resource use of runs, and ends those that use too much.
//
// # Terms
//
//   - A [Subject] is a measured run: all its processes, its directories, its states in memory.
//   - The kernel's limits apply to one process and exceed the measured ones, so that the meter can
//     report which limit was exceeded.
//   - The reserve is what runs leave to the server on each disk.
//
// # Invariants
//
//   - judge decides purely, from measurements, which runs end: first those over their own limits,
//     then the heaviest of those over a shared limit. A run that is ending no longer counts.
//   - A run is asked to stop once, by a signal to its tofu, which can store its state. Its other
//     processes are killed only if waiting would harm others, and tofu only for memory.
//   - A full disk ends a run only if that run's growth explains it.
//   - Runs shorter than the interval cost nothing.
package usage
