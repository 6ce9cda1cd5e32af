// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package run says what a run is and how server and runner speak about it.
//
// A run is one pass over one stack: a plan, the apply of one exact saved plan, or a plan that is
// applied at once. It is described by a [Spec], which is complete: a runner that holds it needs
// nothing else but the bytes it names (source archive, state, saved plan), and those it gets from
// the server by the run's own bearer token. What came of it is a [Result]. Both are kept in a
// [Record], which is JSON in the blob store, written before tofu starts.
//
// # Invariants
//
//   - A run's id is unique for all time and is never used twice.
//   - A token is good for one run only and dies with the run's result.
//   - A run has exactly one result. Posting the same result again is answered like the first time.
//   - A runner ships every state before it posts the result. The server relies on that order and
//     does not check it.
//   - Nothing here decides: when to run, what to approve and what follows from a result is the
//     stack controller's.
//
// # The protocol
//
// HTTPS with JSON, below [PathPrefix]; the server's certificate is pinned by the [Connection] file.
// A runner asks for work with the runner's credential ([PollRequest], a long poll which is also its
// heartbeat), then speaks about one run with that run's token. A poll names the runner, which is
// one process, and its home, where runners succeed each other: a run belongs to the home that it
// was handed out to. Every request names the protocol's version in the header [HeaderProtocol]; a
// server serves its own version and the one before it, so that runners that outlive a server's
// upgrade finish their work.
package run
