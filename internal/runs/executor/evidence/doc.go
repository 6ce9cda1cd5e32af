// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package evidence gathers the evidence of an interrupted apply, and has package unproven list the
// objects that the apply may have created or destroyed although no state proves it.
//
// Evidence is the plan, the log, the states before and after, and the program. A lost part proves
// nothing. A part that cannot be read now may be readable later: the run's end waits for it for a
// limited time, with the run's lock held.
package evidence
