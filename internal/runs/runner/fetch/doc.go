// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package fetch downloads providers and modules for the stores, with the tool itself or with git.
//
// A [Fetcher] runs a program in a new directory, confined like a run, and collects its output. Its
// environment contains the stack's credentials and addresses for downloads, and nothing else of it.
//
// # Invariants
//
//   - A download uses no working directory, so it can continue for other runs.
//   - No setting is passed on that could make the tool or git start another program, or read from
//     elsewhere on this machine. Such a stack downloads for itself alone.
//   - Output and downloads are limited in size and time.
package fetch
