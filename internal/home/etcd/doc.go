// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package etcd runs the one etcd member that keeps the API's objects inside this process.
//
// Invariants:
//   - It listens on one loopback port only, for clients with a certificate. It has no peer port.
//   - A quota limits its size. When it is reached, the package drops history, rewrites the file and
//     clears the alarm automatically. Somebody has to delete objects only when the objects alone
//     fill the quota.
//   - Acknowledged writes are on disk: after a kill at any moment the next start continues from
//     there.
//
// The package does not know what is stored.
package etcd
