// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package plan understands what tofu says it will do and is doing.
//
// The nouns:
//
//   - An event is one line of tofu's machine-readable output (plan, apply,
//     init, each with -json). A line that is not JSON is an event too, of the
//     type Raw: nothing tofu prints is lost or stops the reading.
//   - A stream gathers the events of one tofu process: counts, planned
//     changes, drift, outputs, diagnostics and how far an apply has come.
//   - A plan is what `tofu show -json` tells of a saved plan, made fit to be
//     shown: sensitive values are gone from it before anybody can hold one.
//
// Invariants:
//
//   - Human text of tofu is never parsed; counts come from the events.
//   - No sensitive value leaves Read, Redact or Render. The digest of a plan's
//     changes does cover them: it is one-way, and equal plans must be equal.
//   - Everything kept is bounded; what is left out is counted.
//   - Foreign bytes never cause a panic.
//
// The package starts no process and reads no file. It knows the values that a plan marks as sensitive; the runner masks the run's
// own secrets before it ships anything.
package plan
