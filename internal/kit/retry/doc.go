// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package retry says how soon a controller tries again a pass that failed: an API that does not answer, for the most part.
// What a user can mend fails no pass; it is a condition of the object, with a time of its own.
//
// The pauses of each object double from a few milliseconds to [Longest]. What Kubernetes' libraries do unasked goes on to
// a quarter of an hour: so long many objects would stand still after an outage that is over.
package retry
