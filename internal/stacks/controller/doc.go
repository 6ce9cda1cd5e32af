// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package controller is the controller of the Terraform kind. One pass over a stack takes over the runs
// that ended, gathers the facts, lets the package decide decide, acts, and records the result in the
// object's status.
//
//	controller.go, pass.go  the stages of a pass, and the parts that carry them out
//	facts.go                the object, its inputs, state, lock and runs as they are now
//	dependencies.go         the stacks that it depends on, and what their changes cause
//	act.go                  describes the run to start
//	permit.go               lets runs apply
//	stateaccess.go          which state a stack may use; takeover.go whose it is, locks.go its lock
//	record.go               what a run's result means for the status, pure
//	conditions.go           what a decision means for the conditions; events.go which events follow
//	summary.go              the short status for tables, pure
//	follow.go               what follows plans and applies: outputs.go, inventory.go, health.go
//	why.go                  explains a decision, and which inputs changed
//	byhand.go               runs that a person requested
//	circuit.go              the circuit breakers' view of a stack
//	deletion.go             releases a deleted object
//	unproven.go             what interrupted applies may have left, until a state or a person settles it
//	stuck.go                reports passes that keep failing
//
// The packages beside it: reads finds program and inputs, decide decides, plans keeps readable plans,
// health checks what a stack made, review asks webhooks.
//
// # Invariants
//
//   - A pass never works on a status older than what this controller wrote: the cache is read up to that
//     (package fresh). Every write is bound to the version that was read, and an apply is permitted from
//     the object as the API has it.
//   - The status names an announced run before the run is handed out. Drift checks are not announced; the
//     status names one that applies before the apply begins, and one that found something afterwards.
//   - A result is recorded once. A pass that finds nothing new writes nothing to the API, but for a trace
//     about once an hour.
//   - Contents of Secrets are read when they are needed and kept nowhere but in sealed run records.
package controller
