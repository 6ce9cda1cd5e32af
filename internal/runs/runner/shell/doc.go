// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package shell lets a user work in a stack's working directory.
//
// The shell runs with the rights of the user that executes the runs; tofu runs confined, as in any
// run. So nothing that the author of a stack chooses reaches the shell: its programs and its home
// are in a directory that tofu cannot write to, and environment variables that shells and loaders
// obey are passed to tofu only.
//
// When the shell ends, the programs that it started are ended, too, before the state's lock is
// released.
package shell
