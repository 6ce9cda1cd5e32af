// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package execution has what all parts of the runner share about a run.
//
//   - [Equipment] is shared by all runs of a runner: options, stores, caches, the connection.
//   - A [Run] has the spec, log, result and spool of one run. [Run.RunSteps] executes its [Step]s
//     and records how they ended.
//   - A [Site] is the run's use of the working directory.
//   - A [Stopper] records the first request to stop a run and passes it to the running process. A
//     user's request replaces one of the server.
package execution
