// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package statetest is a server for tofu's "http" backend. It stores states in memory under the
// paths of their URLs, locks them, and requires a password.
//
// It serves GET, POST and DELETE of a state, LOCK and UNLOCK at the same URL, and rejects a write
// to a state that another client has locked.
package statetest
