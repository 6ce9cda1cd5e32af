// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package ocitest provides a real OCI registry on loopback, in memory, which ends with the test.
//
//	registry := ocitest.New(t, ocitest.BasicAuth("reader", "secret"))
//	digest := registry.Push(t, "iac/network", "1.2.3", ocitest.Files{"main.tf": "…"})
//	… registry.URL("iac/network") …
//
// Push is equivalent to "flux push artifact". Counts counts requests other than those of Push and Tag.
// SetFault breaks the registry.
package ocitest
