// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package local is the backend that executes all runs on this machine, in one runner process beside
// the server.
//
// The runner works in one directory, the home [run.HomeLocal], and holds a lock there while it
// lives. It outlives its server, and tofu outlives the runner. So the end of a runner does not end
// its runs: the next runner, which is started at once, takes over the directory and reports the
// outcome of the runs.
//
// The package starts, watches and marks the process. It does not know the active runs: a runner
// requests them from the server.
package local
