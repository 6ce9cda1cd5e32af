// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package apart asks a program of ours for something that is better not done in the server: because it may take all
// memory there is, or because it links what the server should not.
//
// The nouns:
//
//   - A process is one start of such a program, confined by yuba-sandbox: it reads no files but itself, has no environment,
//     and calls nobody.
//   - A message is a JSON value on its way through a pipe. Both sides are of one release and are started together, so
//     messages have no version.
//
// Invariants:
//
//   - A process has at most [MaxMemory] and [MaxProcessor]. One that takes more is ended, and nothing else suffers.
//   - Messages have at most [MaxMessage] bytes.
//   - A process ends when its context does, and when the process that started it is gone.
//
// It imports little, because the programs are started often.
package apart
