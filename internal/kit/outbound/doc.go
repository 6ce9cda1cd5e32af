// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package outbound makes the connections that a stack's author asks the server for: health checks and webhooks.
//
// The server may reach what its authors may not. Most of that asks for credentials, but clouds hand out those of a
// machine to whatever connects from it. So:
//
//   - No connection goes to a metadata service: link-local addresses, the few others that clouds use for it, and addresses
//     of IPv6 that lead there. What a name resolves to counts, at the very moment of connecting. A network that translates
//     with a prefix of its own cannot be recognised: its translator must refuse these addresses itself. So must a proxy, which
//     resolves names on its own.
//   - A redirection is followed to http and https only, never from https to http, and only a few times, if at all.
//   - Everything has a deadline, and no more is read than asked for.
//
// The package does not know what is being asked, nor what the answers mean.
package outbound
