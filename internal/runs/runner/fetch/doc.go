// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package fetch downloads what the stores of providers and modules lack, with the tool itself or with git.
//
// A [Fetcher] runs a program in a new directory, behind the same walls as a run, and collects what it printed. Its
// environment contains the credentials and addresses that the stack names for downloads, and nothing else of the stack.
//
// # Invariants
//
//   - A download depends on no working directory, so it can go on for other runs that wait for it when the run that
//     began it has ended.
//   - A setting of the stack that could make the tool or git start another program, or take something from another
//     place of this machine, is not passed on: such a stack downloads for itself alone.
//   - What the program prints and downloads has a limit, in size and in time.
package fetch
