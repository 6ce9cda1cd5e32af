// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package registryproxy connects one download to the server's registry.
//
// A [Proxy] listens on loopback while a download runs. It forwards requests below its address to the
// server, over the runner's authenticated connection. So downloads need neither a certificate, nor a
// token, nor a route to the registry: the tool's configuration names the proxy for the registry's
// host.
//
// # Invariants
//
//   - Other programs on the machine cannot use a proxy: its path is secret, and it is closed with its
//     download.
//   - Only GET and HEAD are forwarded, and only below the paths that the download needs. No
//     credentials of the client are.
//   - The proxy contacts nothing but the server, and passes on no redirect to elsewhere.
//   - A download survives a restart of the server: requests without an answer are repeated, and
//     archives continue where they were cut.
//   - Everything ends: a server that is gone, or sends nothing, fails the request after some minutes.
package registryproxy
