// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package etcd runs the one etcd member that keeps the API's objects inside this process.
//
// Invariants:
//   - It listens on one loopback port only, for clients that present a certificate; there is no peer port.
//   - Its size is bounded by a quota. When the quota is reached, history is dropped, the file is rewritten and the alarm
//     is cleared without a hand; only when the objects themselves fill the quota does somebody have to delete some.
//   - Everything acknowledged is on disk: after a kill at any moment the next start continues from there.
//
// It knows nothing of what is stored.
package etcd
