// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package attended runs tofu in a directory of the person who is there: on a laptop or in a job of CI,
// without a server. The program and its providers are whatever the repository's authors wrote, so they
// are confined by yuba-sandbox, as runs of a server are.
//
// Nouns:
//
//   - A desk is what one environment's tofu may use: its directory to write, the library to read, a home
//     of its own with links to the credentials that it needs, and an environment that is built.
//   - A call is one tofu process. Its output goes where the person reads it, unless it is captured.
//
// Invariants:
//
//   - Nothing runs without the sandbox unless the person asked for that.
//   - tofu never asks a question (TF_INPUT=0), but for a console, which is one.
//   - A canceled call gets one SIGINT, so that tofu finishes what it is doing and writes the state. It
//     is never killed. It has a session of its own, so that Ctrl-C and a closed terminal do not reach it.
//   - The directory of downloaded providers is only writable during init, when none of them runs.
//   - A git repository that a call made is none after it: what makes it one is renamed.
//   - No credential is in arguments, or copied: links lead to the person's files.
package attended
