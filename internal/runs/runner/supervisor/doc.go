// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package supervisor runs tofu and follows its output.
//
// A [Supervisor] starts one process at a time, confined, with its output in files of the spool.
// While the process runs, it copies the output, masked, to the log, and ships each state that is
// written. It turns the end of the process into a failure: see [Supervisor.Verdict]. It can follow
// a process that an earlier runner started.
//
// [Locks] breaks state locks that killed processes of earlier runs left in a custom backend.
//
// # Invariants
//
//   - The output of an apply is evidence of what it did. If lines may be missing, the supervisor
//     knows why: see [Supervisor.Doubt].
//   - Decisions that depend on texts of tofu or terraform use the constants of words.go.
//   - Before an apply starts, everything needed to recover its state is on disk.
package supervisor
