// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package link connects the runner to the server.
//
// # Invariants
//
//   - The connection file is read whenever it changes: a restarted server has a new address.
//   - An answer is final, a [Refusal], or temporary. [Server.Persist] retries temporary ones with
//     growing waits, until its context ends.
//   - Streams are bounded: a longer answer is a refusal.
//   - Answers of proxies, or of a server that is starting, never count.
package link
