// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package cloud is a tiny cloud for tests, on loopback and in the test's own process: objects with a name, a content,
// a secret and a revision, behind a bearer token. The provider in test/provider manages them.
//
// What makes it worth having is what real clouds do rarely: it holds a request until the test lets it go (Hold), fails
// it (Fail), counts it (Count), and lets the test change the world behind everybody's back (Put, Remove).
//
// It also keeps states as OpenTofu's "http" backend wants them, with locks, at StateAddress.
package cloud
