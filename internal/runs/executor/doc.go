// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package executor is the server's side of runs: it keeps the runs in hand, hands them to runners,
// takes what they ship, and knows when a run is over or its runner gone.
//
// A run in hand is waiting (no runner has it), assigned (handed out to a home, where one runner
// works at a time) or started (the runner has fetched it). It leaves the hand with its result. One
// listener, the stack controller, gets the name of its stack then, and reads the record.
//
// # Parts
//
//   - What must survive the server: package records, and the locks of states (locks.go).
//   - Memory of runs: hand (hand.go, waiting.go, entry.go) and ended (ended.go); queries.go reads
//     both and the records.
//   - Memory of runners: homes (homes.go) with their leases and polls.
//   - Decisions at a runner's request: gate.go lets applies begin, state.go takes states,
//     protocol.go is the HTTP side.
//   - Beginning and ending: dispatch.go and poll.go hand runs out, manual.go and shells.go begin
//     what people request, stop.go and ending.go end runs, package evidence lists what an
//     interrupted apply may have left.
//
// Locks are taken in the order entry, hand; ended has its own.
//
// # Invariants
//
//   - A stack has at most one run in hand.
//   - A run's record is stored before a runner gets it, again before its apply may begin, and with
//     its result before the listener hears that it ended. Other means record what happens in
//     between: states as versions that name the run, the lock as a Lease with the run's id. A
//     server that starts anew assumes the worst of the rest.
//   - A quiet pass, one that no status names, is on record before its apply may begin and when it
//     found anything. One that found nothing is stored once, after the listener has heard of it. If
//     a crash takes it, it is made again.
//   - Every state that a runner ships is stored before it is acknowledged, as a version even when
//     the state's Secret cannot be written.
//   - A run holds its state's lock from before its apply may begin until its result is here, which
//     comes after its last state. This package releases the lock of a run whose runner is gone,
//     because it knows that. Only where nobody knows, the end of a lease counts as the end of the
//     runner.
//   - A run is interrupted when the runner that had it, or the next one of the same home, says that
//     it has it no longer; when the backend says that no runner will follow in that home; or when
//     the home's lease has ended. A shell's process holds a file locked until it ends; what it left
//     is the runner's then.
//
// # Backends
//
// A [Backend] starts runners and knows when they end. What follows for the runs, package lease
// decides. There is one backend, local: one home whose runner is always followed by another, so
// that its lease never ends. One that starts a Pod for each run would name a home for each Pod and
// write it into the Pod's [run.Connection]; it would keep a home for as long as the API has the
// Pod, and call ended when that is over, which frees or interrupts the run at once. It also needs
// to hear of a run when its turn comes, so that poll gives a home the run that its Pod is for, and
// a credential for each home, so that no Pod speaks for another.
//
// The package does not decide about stacks: it asks a function whether a run may go on to its
// apply.
package executor
