// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package fault has the errors that end a run.
//
// A [Failure] has the step, outcome and class for the result. All but the error may be empty: the
// step is then the one that returned it, the outcome is failed. Errors of other types have no
// class.
//
// A Failure with an outcome comes from a request to stop, the server, or the death of a process,
// never from the tool.
package fault
