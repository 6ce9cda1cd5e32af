// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package evidence gathers what is left of an interrupted apply, and has package unproven list what
// the apply may have created or destroyed without any state proving it.
//
// Evidence is the plan, the log, the states before and after, and the program. A part that is lost
// for good proves nothing. A part that cannot be read now may be readable later: the run's end
// waits for it, with the run's lock held, for a limited time.
package evidence
