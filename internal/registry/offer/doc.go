// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package offer is what a source of providers says of them, whoever serves it and in whichever
// protocol: the registry's own providers and the mirror of others' both speak it.
//
// The package is data and errors only, besides [Via], by which mirrors notice that they ask themselves.
package offer
