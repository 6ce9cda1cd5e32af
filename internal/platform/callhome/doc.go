// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package callhome lets a new node hand over the kubeconfig of its cluster, once.
//
// Nouns:
//
//   - A token is a random secret of one node. Its grant is what Yuba keeps of it: the SHA-256, and when it expires.
//   - A ticket is the Secret that waits for a kubeconfig. It has the grant from the moment the token is made; the
//     kubeconfig replaces the grant.
//
// Invariants:
//
//   - A ticket takes one kubeconfig. The same write adds the kubeconfig and removes the grant, and it only succeeds on the
//     version of the ticket that was checked. So of two nodes with the same token one wins, and no crash leaves
//     a spent token without its kubeconfig.
//   - A token is compared by its hash, in constant time, and never written: not to the API, to logs or to answers.
//   - A missing ticket and a wrong token have the same answer.
//   - A kubeconfig is hostile: it may be of limited size, and only what names a server, its authority and a
//     credential is taken from it. Programs, files, proxies and unverified servers are refused.
//
// The package does not listen and starts nothing: internal/app serves [Handler] over TLS, and the platform's controller
// makes tickets.
package callhome
