// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package cloud is a tiny cloud for tests, on loopback in the test's own process. Its objects have
// a name, a content, a secret and a revision; access needs a bearer token. The provider in
// test/provider manages them.
//
// Tests can hold a request until they release it (Hold), fail it (Fail), count it (Count), and
// change objects behind tofu's back (Put, Remove).
//
// It also stores states with locks for OpenTofu's "http" backend, at StateAddress.
package cloud
