// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package local is the backend that carries out all runs on this machine: one runner process beside
// the server.
//
// The runner works in one directory, the home [run.HomeLocal], and holds a lock there while it
// lives. It outlives its server, and tofu outlives the runner. So a runner's end decides nothing:
// the next one, which is started at once, takes over what is left in the directory and says what
// became of the runs.
//
// The package starts, watches and marks the process. It does not know what runs are in hand: a
// runner asks the server for them.
package local
