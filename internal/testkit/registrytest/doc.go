// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package registrytest gives tests a real registry of providers and modules on loopback: discovery,
// versions, downloads and signed checksums over TLS, and a network mirror of the same packages. It
// keeps everything in memory and ends with the test.
//
//	registry := registrytest.New(t)
//	registry.Publish("acme/thing", "1.2.3", registrytest.Program("thing", "1.2.3"))
//	… source = registry.Source("acme/thing"), SSL_CERT_FILE = registry.CAFile(dir) …
//
// Counts are the requests of clients and the bytes of packages. Faults make the registry fail, or
// send wrong data.
package registrytest
