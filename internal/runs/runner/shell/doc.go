// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package shell lets a user work in a stack's working directory.
//
// The shell has the rights of the user that executes runs; tofu runs confined. So nothing that a
// stack's author chooses reaches the shell: tofu cannot write to its programs and home, and only
// tofu gets environment variables that shells and loaders obey.
//
// Programs started from the shell end with it, before the state's lock is released.
package shell
