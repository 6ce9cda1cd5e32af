// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package spool keeps on disk what the server does not have yet of a run.
//
// # Terms
//
//   - A [Dir] is a run's directory. It has the spec, the token, the log, the states, the journal, the output of processes
//     and the result.
//   - The [Journal] is what the next runner must know to take a run over: which process was started last, and how far the
//     states have come. A [Book] is a Dir with its journal in memory.
//   - [Log] is the run's log. A [LogShipper] sends it as it grows.
//   - [States] keeps every state until the server acknowledges it or refuses it for good.
//
// # Invariants
//
//   - Whatever is written replaces a file as a whole and has a digest, so that damage is noticed. What cannot be read is
//     left out; the rest counts.
//   - The record of an apply is on disk before the apply begins, and is never written again. It has everything that is
//     needed to take the run over.
//   - States are sent in order. A newer state of the same lineage replaces those that wait; on disk only when the newer one
//     is on disk for certain. A state that no disk has room for is kept in memory.
//   - The log contains masked lines only, each of them whole.
package spool
