// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package lease decides what becomes of the runs in hand: who has them, and which are lost.
//
// A runner is one process. A home is where runners work one after the other, never two at a time: a
// directory with a lock, or a Pod. A run that was handed out belongs to a home. The lease of a home
// is how long its runs stay with it while nothing is heard of it; each poll renews it, and so does
// everything that a runner ships.
//
// Invariants:
//
//   - A poll says something about the runs of its own home only: those of the runner itself, and
//     those of the runner whose place it took. A poll never touches a run of another home.
//   - A poll of a runner whose place another has taken says nothing. It was on its way when its
//     process ended.
//   - A run is handed out again only when somebody knows that nobody works on it: its home's runner
//     says so, or the home is known to be gone. A lease that ends proves nothing, so its runs are
//     lost, and their tokens with them: a runner that comes back is told to forget them, and its
//     result is refused.
//   - No lease ends while a poll of its home is being answered, or while a backend answers for the
//     home.
//
// The package is pure: it reads no clock and takes no locks. Time is what its callers say.
package lease
