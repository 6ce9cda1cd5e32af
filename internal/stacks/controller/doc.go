// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package controller reconciles the kind Terraform. A pass over a stack reads the runs that ended,
// gathers facts, decides (package decide), acts, and records the result in the status.
//
//	controller.go, pass.go  the stages of a pass and its parts
//	facts.go                the current object, inputs, state, lock and runs
//	dependencies.go         dependencies and dependants, and effects of their changes
//	act.go                  drafts the run to start
//	permit.go               lets runs apply
//	stateaccess.go          the state that a stack may use; takeover.go its owner; locks.go
//	record.go               the effect of a run's result on the status, pure
//	conditions.go           the effect of a decision on conditions; events.go on events
//	summary.go              the short status for tables, pure
//	follow.go               after plans and applies: outputs.go, inventory.go, health.go
//	why.go                  explains a decision, and which inputs changed
//	byhand.go               runs that a person requested
//	circuit.go              the circuit breakers' view of a stack
//	deletion.go             releases a deleted object
//	unproven.go             leftovers of interrupted applies, until they are settled
//	stuck.go                reports passes that keep failing
//
// Other packages: reads finds program and inputs, plans keeps readable plans, health runs health
// checks, review asks webhooks.
//
// # Invariants
//
//   - A pass never uses a status older than the controller's last write (package fresh). Each write
//     is bound to the version that was read, and an apply is permitted from the object in the API.
//   - The status names an announced run before the run starts. A drift check is not announced: the
//     status names it before it applies, or after it found something.
//   - A result is recorded once. A pass that finds nothing new updates the status about once an
//     hour.
//   - Contents of Secrets are read when needed and kept only in sealed run records.
package controller
