// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package executor is the server's side of runs: it keeps the runs in hand, hands them to runners, takes what they
// ship, and knows when a run is over or its runner gone.
//
// A run in hand is waiting (no runner has it), assigned (handed out to a home, where one runner works at a time) or started
// (the runner has fetched it). It leaves the hand with its result. What ended is told to one listener, the stack controller, by the stack's
// name only: the listener reads the record.
//
// Runs that people ask for are held first, so that the stack's status can name them, and begin then: with a runner, with
// the person's own process (a shell), or here (what replaces a managed state as a whole).
//
// # Invariants
//
//   - A stack has at most one run in hand.
//   - A run's record is stored before a runner hears of it, again before its apply may begin, and with its result before
//     anybody is told that it ended. What happens in between is on record by other means: states as versions that name
//     the run, the lock as a Lease with the run's id. A server that starts anew assumes the worst of the rest.
//   - A quiet pass, one that nobody's status names, is on record before its apply may begin and when it found anything.
//     One that found nothing is stored once and after everybody was told: a crash may take it, and then it is made again.
//   - Every state a runner ships is stored before it is acknowledged, as a version even when the state's Secret cannot
//     be written.
//   - A run holds its state's lock from before its apply may begin until its result, which comes after its last state,
//     is here. The lock of a run whose runner is gone is released by this package, because it knows that. Only where
//     nobody knows, the end of a lease counts as the end of the runner.
//   - A run is called interrupted when the runner that had it, or the next one of the same home, says that it has it no
//     longer; when the backend says that no runner will follow in that home; or when the home's lease has ended.
//     A shell's process is known to be gone by the file that it held locked; what it left is then the runner's.
//
// # Backends
//
// A [Backend] starts runners and knows when they end. What follows for the runs, package lease decides. There is one
// backend, local: one home whose runner is always followed by another, so that its lease never ends. One that starts a
// Pod for each run would name a home for each Pod and write it into the Pod's [run.Connection]; it would keep a home for
// as long as the API has the Pod, and call ended when that is over, which frees or interrupts the run at once. What it
// needs beside that: to be told of a run when its turn comes, so that poll answers a home with the run that its Pod is
// for, and a credential for each home, so that no Pod speaks for another.
//
// The package decides nothing about stacks: whether a run may go on to its apply is asked of a function.
package executor
