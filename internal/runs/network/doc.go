// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package network decides what the isolated network of a run may reach.
//
// The nouns:
//
//   - An entry names destinations: a host name, a wildcard of names, an address or a network, with
//     ports and a protocol. See [Parse].
//   - A list is all entries of a server. The default list is "*".
//   - A special address leads to this machine or to a metadata service: loopback, link-local, the
//     addresses of this machine, those that clouds use for metadata.
//   - A forward is a loopback address with a port that an entry names. The run has its own loopback
//     interface, so its port leads to that of the machine.
//
// # Invariants
//
//   - Only an entry with this address, or with a network of special addresses, allows a special
//     address. Names, "*" and larger networks do not, whatever a name resolves to.
//   - Only TCP is allowed, unless an entry says otherwise.
//
// The package is pure: it resolves no names and opens no connections. Package relay does.
package network
