// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package engine executes Helm's operations for a server. Package internal/gitops/releases/wire has
// the calls and their results.
//
// Invariants:
//
//   - All requests go through the one connection to the server: the program dials nothing, and
//     templates resolve no names.
//   - Charts are read from memory, within limits: links, absolute paths and paths that lead out of a
//     chart are refused.
//   - Nothing decides: each call is one operation, and its result says what is stored afterwards.
//   - Failures never quote values.
package engine
