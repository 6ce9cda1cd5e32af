// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package execution is what all parts of the runner know of a run in progress.
//
//   - [Equipment] is shared by all runs of a runner: options, stores, caches, the connection to the
//     server.
//   - A [Run] has the spec, the log, the result and the spool directory of one run. [Run.RunSteps]
//     carries its [Step]s out and records how they ended.
//   - A [Site] is the run's use of the working directory.
//   - A [Stopper] records the first request to stop a run, and passes it to the process that runs.
//     A request of a user replaces one of the server.
package execution
