// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package fault is how a part of the runner says that a run cannot go on.
//
// A [Failure] names the step, the outcome and the class that the result reports. Every field but the error may be empty:
// the step is then the one that returned the failure, and the outcome is failed. Errors of other types are failures
// without a class.
//
// A Failure without an outcome is the run's own. One with an outcome was caused by a wish to stop, by the server, or by
// the death of a process; it must not be taken for what a tool reported.
package fault
