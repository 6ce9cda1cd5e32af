// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package plan interprets tofu's plans and progress.
//
// Nouns:
//
//   - An event is one line of tofu's machine-readable output (plan, apply, init, each with -json).
//     A line that is not JSON is an event of type Raw, so no output is lost or stops the reading.
//   - A stream collects the events of one tofu process: counts, planned changes, drift, outputs,
//     diagnostics and the progress of an apply.
//   - A plan is the output of `tofu show -json` for a saved plan, without sensitive values, so that
//     it can be shown.
//
// Invariants:
//
//   - Human-readable output of tofu is never parsed; counts come from events.
//   - No sensitive value leaves Read, Redact or Render. The digest of a plan's changes covers them:
//     it is one-way, and equal plans must have equal digests.
//   - Everything kept is limited; omitted items are counted.
//   - Foreign bytes never cause a panic.
//
// The package starts no processes and reads no files. It knows the values that a plan marks as
// sensitive; the runner masks the run's own secrets before it sends anything.
package plan
