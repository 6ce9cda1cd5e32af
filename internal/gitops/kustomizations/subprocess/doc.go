// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package subprocess runs programs for work that uses unbounded memory or links large libraries.
//
// Nouns:
//
//   - A process is one start of such a program, confined by yuba-sandbox: no files except itself,
//     no environment, no network.
//   - A message is a JSON value in a pipe, without a version: both sides belong to one release.
//
// Invariants:
//
//   - A process that exceeds [MaxMemory] or [MaxProcessor] is ended, without harm to others.
//   - Messages have at most [MaxMessage] bytes.
//   - A process ends with its context, and with the process that started it.
//
// The package imports little, because the programs start often.
package subprocess
