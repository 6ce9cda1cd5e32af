// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package statetest is a real server for tofu's "http" backend: it keeps states in memory under the paths of their URLs,
// locks them, and lets only those in who know its password. It stands for the bucket in which teams keep their states.
//
// It serves GET, POST and DELETE of a state, LOCK and UNLOCK at the same URL, and refuses to write a state that somebody
// else has locked.
package statetest
