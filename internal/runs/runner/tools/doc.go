// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package tools finds the programs that plan and apply: tofu or terraform, in the requested
// version.
//
// A [Box] searches the server's own tool, a directory of versions, the directory of the server's
// program, and PATH. It searches each time, so new programs are found without a restart.
//
// # Invariants
//
//   - A program's name comes from its file, its version from running it once per content.
//   - The newest program that satisfies a constraint is used; without one, the server's own.
//   - A program older than [Oldest] is never used.
package tools
