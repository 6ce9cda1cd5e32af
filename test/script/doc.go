// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package script runs the scripts in testdata: each is a command, or a story of several, as a user types it. The test
// binary is the program.
//
// Scripts named up_* talk to one real server that all of them share, each in a namespace of its own, once in each home; those named
// own_* have one to themselves, because they replace what it keeps; the others need no server.
package script
