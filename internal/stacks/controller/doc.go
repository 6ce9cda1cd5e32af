// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package controller is the controller of the Terraform kind. One pass over a stack takes over the runs that ended, gathers
// the facts, lets the package decide say what to do, acts, and records the result in the object's status.
//
//	controller.go    the phases of a pass
//	facts.go         the object, its inputs, state, lock and runs as they are now
//	sources.go       the archive of its source; modules.go and program.go what that declares
//	dependencies.go  the stacks that it depends on
//	config.go        program and inputs as one configuration, with its digest
//	proof.go         which part of its source a stack reads, so that only a change of that part counts
//	decide/          the decision, pure
//	act.go           starts and cancels runs
//	record.go        what a run's result means for the status, pure; trace.go the same for passes that found nothing new
//	conditions.go    what a decision means for the conditions; events.go which events follow
//	summary.go       the few words about a stack that tables show, pure
//	follow.go        what follows plans and applies: outputs.go, readable.go, inventory.go, health.go
//	why.go           explains a decision, and which inputs changed
//	byhand.go        runs that a person asked for
//	circuit.go       what circuit breakers need to know and say
//	tenant.go        what differs for a stack that belongs to a tenant
//	deletion.go      lets a deleted object go
//	takeover.go      whose state a stack finds: its own, or that of a deleted stack
//	unproven.go      what interrupted applies may have left, until a state or a person settles it
//	nameproblem.go   names that the object uses and that cannot exist
//	stuck.go         reports passes that keep failing
//
// # Invariants
//
//   - A pass never works on a status older than what this controller wrote: the cache is read up to that (package fresh).
//     Every write is bound to the version that was read, and an apply is permitted from the object as the API has it.
//   - The status names an announced run before the run is handed out. Passes on the interval are not announced; the status
//     names one that applies something before the apply begins, and one that found something afterwards.
//   - A result is recorded once. A pass that finds nothing new writes nothing to the API, but for a trace about once an hour.
//   - Contents of Secrets are read when they are needed and kept nowhere but in sealed run records.
package controller
