// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package listener bounds what connections to this process may cost, whoever makes them.
//
// The nouns:
//
//   - A Listener accepts a bounded number of connections at a time, and from one address. Beyond that a new connection takes
//     the place of the one that was silent for longest. It is refused when all places have known connections.
//   - A known connection is one whose user has shown credentials that hold. It never gives way.
//   - The budget is how many connections all listeners of the process may have, given how many files it may open. The rest is
//     for what must not fail: etcd's log, blobs, the programs that are started.
//
// Invariants:
//
//   - Strangers cannot keep those with credentials out: a connection gives way when it was silent for longest, and not
//     before it had the time to show credentials. In a flood, new connections wait.
//   - Headers, bodies and idle connections have deadlines on every path, also where no handler reads the body. A body may
//     take as long as it needs while it keeps coming.
//
// The package knows no protocol above HTTP and no users.
package listener
