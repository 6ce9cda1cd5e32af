// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package lease decides which runner has a run in hand, and which runs are lost.
//
// A runner is one process. A home is where runners work one after the other: a directory with a
// lock, or a Pod. Runs that were handed out belong to a home. Its lease is how long they stay with
// it in silence; polls and everything else that a runner ships renew it.
//
// Invariants:
//
//   - A poll only speaks for the runs of its own home: the runner's, and those of the runner that
//     it replaced.
//   - A poll of a replaced runner, which was on its way when that ended, says nothing.
//   - A run is handed out again only if its home's runner, or the end of the home, proves that
//     nobody works on it. The end of a lease proves nothing: its runs are lost, a runner that comes
//     back must forget them, and their tokens are void.
//   - No lease ends while a poll of its home is being answered, or a backend answers for the home.
//
// The package is pure: it has no clock and no locks. Callers pass the time.
package lease
