// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package run defines runs, and the protocol between server and runner.
//
// A run is one pass over one stack: a plan, the apply of one exact saved plan, or a plan that is
// applied at once. Its [Spec] is complete: a runner needs nothing else but the bytes that it names
// (source archive, state, saved plan), which it gets with the run's own token. The [Result] is what
// came of it. Both are in a [Record], JSON in the blob store, written before tofu starts.
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
// runner asks for work with its own credential ([PollRequest], a long poll and heartbeat), and
// speaks about a run with that run's token. A poll names the runner, which is one process, and its
// home, where runners succeed each other and which runs belong to. Each request names its version
// in the header [HeaderProtocol]; a server supports its own and the previous one, so that runners
// finish their runs after an upgrade of the server.
package run
