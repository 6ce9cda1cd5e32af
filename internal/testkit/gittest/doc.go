// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package gittest provides a real git server on loopback: bare repositories in a temporary directory,
// served by git itself over HTTP or HTTPS (git http-backend) and optionally ssh (git upload-pack).
//
//	server := gittest.New(t, gittest.BasicAuth("reader", "secret"))
//	central := server.Repository(t, "central")
//	first := central.Commit(t, "first", gittest.Files{"main.tf": "…"})
//	… server.URL("central") …
//
// A test changes a repository through Repository, whose work tree does not need the server. Counts
// therefore counts only requests of the code under test. SetFault breaks the server.
//
// The server is read only unless the option Writable is given, and supports all versions of git's protocol.
package gittest
