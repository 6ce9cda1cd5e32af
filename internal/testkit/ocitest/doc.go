// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package ocitest gives tests a real OCI registry on loopback, which keeps everything in memory and ends with the test.
//
//	registry := ocitest.New(t, ocitest.BasicAuth("reader", "secret"))
//	digest := registry.Push(t, "iac/network", "1.2.3", ocitest.Files{"main.tf": "…"})
//	… registry.URL("iac/network") …
//
// Push writes what "flux push artifact" writes. Counts counts the requests of everybody but Push and Tag, and Fault breaks
// the registry the way networks and registries break.
package ocitest
