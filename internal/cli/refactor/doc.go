// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package refactor has the command "yuba refactor", which moves resources between the states of stacks.
//
//	command.go  the commands and their flags
//	preview.go  a file becomes a proposal, and plans of all stacks concerned
//	apply.go    a proposal becomes the states
//	print.go    proposals and plans for people
//	suggest.go  how a stack could be split
//
// Invariants:
//
//   - Nothing is applied before all stacks are planned on their new states, and each plan is exactly
//     what the file expects.
//   - A plan of another source than the stack's own counts only while the stack is suspended: otherwise
//     its next run would use the old program with the new state.
package refactor
