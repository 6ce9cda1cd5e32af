// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package stack is the controller of the Terraform kind. One pass over a stack is: take over what ended, gather the
// facts, let the package decide say what to do, act, and record it in the object's status.
//
//	facts.go     what the object, its source, inputs, state, lock and runs are now
//	proof.go     which part of its source a stack reads, so that only a change of that counts
//	decide/      the decision, pure
//	act.go       starts and cancels runs
//	record.go    what a run's result means for the status, pure
//	why.go       explains a decision, and which inputs changed
//	outputs.go   the outputs Secret
//	tenant.go    what is different for a stack that belongs to a tenant
//	deletion.go  letting a deleted object go
//
// # Invariants
//
//   - The object is read from the API and not from a cache: a decision is never made on a status that this controller
//     has already changed.
//   - The status names a run before the run is handed out, and a result is recorded exactly once.
//   - A pass that finds nothing new writes nothing to the API.
//   - Contents of Secrets are read when they are needed and kept nowhere but in sealed run records.
package stack
