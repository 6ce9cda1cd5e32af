// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package gittest gives tests a real git server on loopback: bare repositories below a temporary directory, served by git
// itself over smart HTTP (git http-backend), HTTPS and, when asked for, ssh (git upload-pack behind a small ssh server).
//
//	server := gittest.New(t, gittest.BasicAuth("reader", "secret"))
//	central := server.Repository(t, "central")
//	first := central.Commit(t, "first", gittest.Files{"main.tf": "…"})
//	… server.URL("central") …
//
// A test changes a repository through Repository, whose work tree is beside the bare repository and needs no server, so
// that Counts counts the requests of the code under test alone: how often it asked for the references, how often it
// fetched, and how many of its fetches were clones. Fault breaks the server the way networks and servers break.
//
// The server is read only, and it speaks every version of git's protocol.
package gittest
