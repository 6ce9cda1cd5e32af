// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package listener limits what connections to this process may cost.
//
// Nouns:
//
//   - A Listener accepts a limited number of connections, in total and from one address. Beyond
//     that a new connection replaces the one that was silent for longest. If all are known
//     connections, it is refused.
//   - A known connection is one whose user has shown valid credentials, in whatever request of it: an
//     answer to an anonymous request does not make it known. It is never replaced.
//   - The budget is the maximum number of connections of all listeners, given the limit of open
//     files. It reserves files for work that must not fail: etcd's log, blobs, child processes.
//
// Invariants:
//
//   - Strangers cannot lock out users with credentials: only the connection that was silent for
//     longest is replaced, and not before it had time to show credentials. In a flood, new
//     connections wait.
//   - Headers, bodies and idle connections have deadlines on every path, also if no handler reads
//     the body. A body may take as long as it keeps arriving.
//
// The package knows no protocol above HTTP and no users.
package listener
