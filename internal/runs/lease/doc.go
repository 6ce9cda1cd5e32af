// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package lease decides which runner has a run, and which runs are lost.
//
// A runner is one process. A home is a place where one runner works at a time: a directory with a
// lock, or a Pod. Runs are handed out to a home. They stay there for the length of its lease,
// which every poll and everything else that a runner ships renews.
//
// Invariants:
//
//   - A poll only affects the runs of its own home: the runner's, and those of the runner that it
//     replaced.
//   - A poll of a replaced runner, sent before that runner ended, is ignored.
//   - A run is handed out again only if its home's runner, or the end of the home, proves that no
//     process executes it. The end of a lease proves nothing: its runs are lost, a runner that
//     returns must forget them, and their tokens are void.
//   - No lease ends while a poll of its home is being answered, or the backend keeps the home.
//
// The package is pure: it has no clock and no locks. Callers pass the time.
package lease
