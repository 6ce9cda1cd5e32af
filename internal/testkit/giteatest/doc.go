// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package giteatest starts a real Gitea on loopback, in a fresh directory, and works in it: users, tokens, repositories,
// pull requests, reviews, merges and webhooks.
//
//	server := giteatest.Start(t)
//	world := server.World(t, open)
//
// "make bin/gitea" builds the program once, from the module proxy. One server takes a few seconds to start, so tests
// share one: each World is an organization of its own with one repository.
package giteatest
