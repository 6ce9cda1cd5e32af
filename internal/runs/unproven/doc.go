// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package unproven lists the objects that an interrupted apply may have created or destroyed
// although no state proves it.
//
//   - A fate is the planned creation or destruction of one object.
//   - Evidence of an apply is the plan, the log, the first and the last state.
//   - An unproven object may exist although no state has it, or may be gone although one has it.
//
// # Invariants
//
//   - The list has each object that the plan creates or destroys, unless the last state proves it,
//     or the whole log proves that its step did not begin. Missing evidence proves nothing.
//   - A list is never empty for lack of evidence: then it has the program's resources, or a note.
//   - After an orderly exit, it has only objects of steps in the log whose end no readable state
//     proves.
//   - An object from before the apply never proves that its replacement was created.
//
// The package is pure: evidence in, a list out. Package evidence of the executor gathers it;
// internal/stacks/controller keeps the list until a person has seen it.
package unproven
