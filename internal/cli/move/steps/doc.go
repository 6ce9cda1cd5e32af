// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package steps carries out a move: it reads both homes, and does what package decide has planned.
//
//	side.go       access to one home
//	record.go     what a home knows about its moves
//	gather.go     the facts of a plan; blocked.go what prevents moving a stack
//	run.go        the steps, in order
//	freeze.go     suspend and mark at the source, and wait until nothing runs
//	copy.go       objects; content.go what blob stores have; statuses.go
//	verify.go     compare both homes
//	resume.go     resume at the target; settle.go wait for the first pass of each stack
//	backup.go, restore.go  write namespaces to a file, and read them; torn.go states of a run in progress
//	cancel.go     undo a move that has not been verified
//	claim.go      the Leases by which one process at a time moves or cancels
//
// Invariants:
//   - The order of the steps is the safety of a move: an object is suspended and marked at the source
//     before it exists at the target, and it is resumed there after everything was compared.
//   - Every write may be repeated, and the same move continues after a kill at any moment: the
//     records and marks at both homes say how far it came.
//   - A write is bound to the version of the object that was read.
package steps
