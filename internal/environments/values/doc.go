// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package values decides whether a root module has a value for each of its variables, before tofu
// starts: tofu would ask a question that nobody may be there to answer, or ignore a misspelt key.
//
// Invariants:
//
//   - It is pure: files are given as bytes. Values are never part of a message, only names.
//   - A missing value is only reported if no file, flag or variable of the environment sets it.
//   - A key without a variable is an error in a file of the environment itself, where it can only be a
//     mistake. In a file that several environments share it is a warning.
package values
