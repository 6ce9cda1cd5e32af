// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package steps has the steps that runs consist of: prepare, init, plan, show, apply, output, and
// changes of the state.
//
// [Steps.List] puts them together for an operation. A step that does not apply to a run returns
// [execution.ErrNotThisStep].
//
// # Invariants
//
//   - Only the plan with the digest that was decided about is applied, from a copy that programs
//     cannot write to.
//   - Plan and apply are one process only if there is no state and no review of the plan, and
//     after the server has permitted the apply. If that fails before the first resource is begun,
//     it counts as a failed plan.
//   - Files that planning created are listed separately, and kept for the apply of that plan. HOME
//     and TMPDIR are new for each run.
package steps
