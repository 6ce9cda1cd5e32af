// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package link is the runner's way to the server.
//
// # Invariants
//
//   - The connection file is read again whenever it changes: a restarted server has another address and credential.
//   - An answer is either final, a [Refusal], or to be tried again. [Server.Persist] tries until it has a final answer or
//     its context ends, with growing pauses.
//   - What is streamed is bounded: a longer answer is a refusal.
//   - An answer of a proxy, or of a server that is still starting, is never taken for the protocol's.
package link
