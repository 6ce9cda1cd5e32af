// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package upstream contains what requests to repositories, registries and buckets share.
//
// Nouns:
//
//   - An access describes how to reach an upstream, and as whom: certificates, proxy, credentials.
//   - An identity distinguishes accesses. Equal identities see the same upstream and may share its
//     responses. A proxy is part of it: it could falsify them.
//   - A look queries the current state of an upstream. Concurrent looks with equal keys share one
//     request, and its answer can be reused for a while.
//   - A problem is why a request failed, in our own words.
//
// Invariants:
//
//   - Nothing connects to the metadata service of the machine, whatever a name resolves to.
//   - Callers with different identities never share an answer.
//   - A fresh look begins after its request.
//   - Identities are useless outside the process, and do not reveal credentials.
//
// The package does not know what is requested, and stores nothing on disk.
package upstream
