// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package handover has the commands "yuba hand-over" and "yuba take-back": a stack leaves Yuba for
// another owner, and comes back.
//
//	command.go     yuba hand-over; takeback.go yuba take-back
//	arm.go         the directory gets its name
//	mark.go        the mark that stops this home, and the wait until nothing runs
//	content.go     what the last apply used, from the home's export
//	directory.go   the directory for plain tofu; words.go its README
//	resources.go   ids and import blocks; crossplane.go manifests
//	prove.go       a plan without changes; cage.go its sandbox
//
// The order of the steps is the safety of a hand-over. At no moment may both owners run the stack:
//
//  1. Mark: from now on this home runs nothing, and a deletion keeps all resources.
//  2. Wait until no run is active and nobody holds the lock.
//  3. Write and prove, in a directory that is not the owner's yet.
//  4. Arm: write the phase "arming" by compare and swap, and rename the directory. From now on the new owner may run.
//  5. Record the new owner in the mark.
//
// The way back has the reverse order: the directory is disarmed, then its state is pushed, then the
// mark is removed. A take-back without the directory swaps the phase "leaving" only: either it or the arming
// wins, on whatever machines they run; from then on it needs the directory, or somebody's word (--abandoned). Each command continues after a kill at any moment: the mark and the directory have
// the same id and say how far it came.
package handover
