// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package unproven lists what an apply that was cut off may have done without any state proving it.
//
// The nouns:
//
//   - A fate is what a plan means for one object that it makes or destroys.
//   - Evidence is what is left of an apply: its plan, what its log says, the state it began with,
//     the last one stored.
//   - An object is unproven when it may exist although no state has it, or may be gone although the
//     state has it.
//
// # Invariants
//
//   - What the plan makes or destroys is listed unless the last state proves it, or the whole log
//     proves that it was not begun. Evidence that is missing proves nothing.
//   - A list is never empty for want of evidence: where nothing is known, the program's resources
//     are listed, or a note says that nothing is known.
//   - An apply that ended in good order leaves only objects that its log says were made or
//     destroyed, and whose end no state that we can read proves.
//   - An object that the state had before the apply never proves that its replacement was made.
//
// The package is pure: evidence in, a list out. internal/runs/executor gathers the evidence;
// internal/stacks/controller keeps the list until a person has seen it.
package unproven
