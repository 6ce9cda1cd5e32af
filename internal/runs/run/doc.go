// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package run defines runs, and the protocol between server and runner.
//
// A run is one execution for one stack: a plan, the apply of one exact saved plan, or a plan that
// is applied at once. Its [Spec] is complete: a runner needs nothing else but the content that it
// refers to (source archive, state, saved plan), which it fetches with the run's own token. The
// [Result] is the outcome. Both are in a [Record], JSON in the blob store, written before tofu
// starts.
//
// # Invariants
//
//   - Run ids are unique and never reused.
//   - A token is valid for one run and ends with its result.
//   - A run has exactly one result. Posting it again gets the same answer.
//   - A runner ships every state before it posts the result. The server relies on that order.
//   - The stack controller decides when to run, what to approve, and what follows from a result.
//
// # The protocol
//
// HTTPS with JSON, below [PathPrefix]; the [Connection] file pins the server's certificate. A
// runner requests work with its own credential ([PollRequest], a long poll and heartbeat); its
// requests for a run use that run's token. A poll names the runner, which is one process, and its
// home, which owns the runs and where one runner follows another. Each request names its version
// in the header [HeaderProtocol]; a server supports its own and the previous one, so that runners
// finish their runs after an upgrade of the server.
package run
