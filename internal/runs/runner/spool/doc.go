// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package spool keeps on disk everything of a run that the server does not have yet.
//
// # Terms
//
//   - A [Dir] is a run's directory: spec, token, log, states, journal, outputs, result.
//   - The [Journal] is what the next runner needs to take a run over: its last process, and the
//     progress of its states. A [Book] is a Dir with its journal in memory.
//   - [Log] is the run's log. A [LogShipper] sends it as it grows.
//   - [States] keeps every state until the server acknowledges or finally refuses it.
//
// # Invariants
//
//   - Writes replace whole files with digests, which reveal damage. Readers skip damaged files.
//   - The record of an apply is synced before the apply begins, and never written again. It has
//     everything that is needed to take the run over.
//   - States are sent in order. A newer state of the same lineage replaces waiting ones; those on
//     disk only after it is synced. A state that fits on no disk stays in memory.
//   - The log contains only masked, complete lines.
package spool
