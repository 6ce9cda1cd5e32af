// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package unproven lists what an interrupted apply may have done without any state proving it.
//
//   - A fate is the plan for one object that it makes or destroys.
//   - Evidence is what is left of an apply: the plan, the log, the first and the last state.
//   - An unproven object may exist although no state has it, or may be gone although one has it.
//
// # Invariants
//
//   - The list has each object that the plan makes or destroys, unless the last state proves it, or
//     the whole log proves that its step did not begin. Missing evidence proves nothing.
//   - A list is never empty for want of evidence: then it has the program's resources, or a note.
//   - After an orderly exit, it has only objects of steps in the log whose end no readable state
//     proves.
//   - An object from before the apply never proves that its replacement was made.
//
// The package is pure: evidence in, a list out. Package evidence of the executor gathers it;
// internal/stacks/controller keeps the list until a person has seen it.
package unproven
