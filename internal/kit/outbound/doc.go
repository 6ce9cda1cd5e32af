// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package outbound makes connections that a stack's author requests from the server: health checks
// and webhooks.
//
// The server can reach addresses that authors must not. Most of them require credentials, but
// clouds give a machine's credentials to any process on it. So:
//
//   - No connection goes to a metadata service: link-local addresses, the few others that clouds
//     use, and IPv6 addresses that lead there. The resolved address counts, at the moment of
//     connecting. A network with its own NAT64 prefix cannot be recognised: its translator must
//     refuse these addresses. So must a proxy, which resolves names itself.
//   - Redirects are followed to http and https only, never from https to http, and only a few
//     times, if at all.
//   - Everything has a deadline, and only the requested amount is read.
//
// The package does not know the meaning of requests and responses.
package outbound
