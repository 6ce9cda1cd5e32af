// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package executor is the server's side of runs: it keeps the active runs ("in hand"), hands them
// to runners, stores what runners ship, and detects when a run has ended or its runner is gone.
//
// A run in hand is waiting (no runner has it), assigned (handed out to a home, where one runner
// works at a time) or started (the runner has fetched it). Its result ends it. The one listener,
// the stack controller, then gets the name of the stack and reads the record.
//
// # Parts
//
//   - Data that survives the server: package records, and the locks of states (locks.go).
//   - Runs in memory: hand (hand.go, waiting.go, entry.go) and ended (ended.go); queries.go reads
//     both and the records.
//   - Runners in memory: homes (homes.go) with their leases and polls.
//   - Requests of runners: gate.go permits applies, state.go stores states, protocol.go is the HTTP
//     side.
//   - Start and end of runs: dispatch.go and poll.go hand runs out, manual.go and shells.go start
//     the runs that people request, stop.go and ending.go end runs, package evidence lists the
//     possible leftovers of an interrupted apply.
//
// Locks are taken in the order entry, hand; ended has its own.
//
// # Invariants
//
//   - A stack has at most one run in hand.
//   - A run's record is stored before a runner gets it, again before its apply may begin, and with
//     its result before the listener is notified. In between, states are stored as versions that
//     name the run, and the lock as a Lease with the run's id. For everything else a restarted
//     server assumes the worst.
//   - A quiet pass, one that no status names, is stored before its apply may begin and when it
//     found something. One that found nothing is stored once, after the listener was notified. If a
//     crash loses it, it is repeated.
//   - Every state that a runner ships is stored before it is acknowledged, as a version even when
//     the state's Secret cannot be written. If the runner cannot ship it again, the end of the run
//     writes the Secret.
//   - A run holds its state's lock from before its apply may begin until its result arrives, which
//     is after its last state. This package releases the lock of a run whose runner is gone. The
//     end of a lease counts as the end of the runner only if nothing else shows it.
//   - A run is interrupted when its runner, or the next one of the same home, no longer has it;
//     when the backend reports that no runner will follow in that home; or when the home's lease
//     has ended. A shell's process holds a lock on a file until it ends; then the runner ships its
//     leftovers.
//
// # Backends
//
// A [backend.Backend] starts runners and detects their end; package lease decides what that means for
// their runs. There is one backend, local: one home whose runner is always followed by another, so
// its lease never ends. A backend that starts a Pod for each run would name a home for each Pod
// and write it into the Pod's [run.Connection]; it would keep a home for as long as the API has
// the Pod, and call ended after that, which requeues or interrupts the run at once. It would also
// need a notification when a run's turn comes, so that poll gives a home the run of its Pod, and
// one credential per home, so that no Pod can act for another.
//
// The package does not decide about stacks: it asks a function whether a run may apply.
package executor
