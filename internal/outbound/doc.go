// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package outbound makes the connections that a stack's author asks the server for: health checks and webhooks.
//
// The server may reach what its authors may not. Most of that asks for credentials, but clouds hand out those of a
// machine to whatever connects from it. So:
//
//   - No connection goes to a metadata service: link-local addresses and the few others that clouds use for it. What a
//     name resolves to counts, at the very moment of connecting.
//   - Who redirects is not followed to anything but http and https, and only a few times, if at all.
//   - Everything has a deadline, and no more is read than asked for.
//
// The package does not know what is being asked, nor what the answers mean.
package outbound
