// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package tools finds the programs that plan and apply: tofu, or terraform, in the version that a stack wants.
//
// A [Box] looks at the program that the server was started with, in a directory with other versions side by side, beside
// the server's program, and on the path. It looks again each time: a program that is installed later is found by the next
// run.
//
// # Invariants
//
//   - A program's name comes from its file, its version from the program itself, which is asked once as long as the file
//     does not change.
//   - Of the programs that satisfy a constraint the newest is used. Without a constraint it is the server's own.
//   - A program older than [Oldest] is never used.
package tools
