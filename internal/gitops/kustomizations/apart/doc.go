// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package apart runs Yuba's own programs for work that does not belong in the server: because it may
// use any amount of memory, or because it links large libraries.
//
// Nouns:
//
//   - A process is one start of such a program, confined by yuba-sandbox: it has no files except
//     itself, no environment and no network.
//   - A message is a JSON value in a pipe. Both sides belong to one release, so messages have no version.
//
// Invariants:
//
//   - A process that exceeds [MaxMemory] or [MaxProcessor] is ended, without harm to others.
//   - Messages have at most [MaxMessage] bytes.
//   - A process ends with its context, and with the process that started it.
//
// The package imports little, because the programs are started often.
package apart
