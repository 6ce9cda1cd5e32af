// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package passes

import "time"

const (
	// ShortestPause and LongestRefusal bound the pauses between attempts to write a refused object.
	ShortestPause  = time.Second
	LongestRefusal = 2 * time.Minute
	// RetryPause is the pause before a request to an unreachable cluster is repeated.
	RetryPause = 15 * time.Second
)

// maxDoublings keeps shifted durations from overflowing.
const maxDoublings = 7

// Backoff is the pause after a number of earlier failures: it doubles from the shortest to the
// longest.
func Backoff(shortest, longest time.Duration, failures int) time.Duration {
	return min(shortest<<min(failures, maxDoublings), longest)
}

// Refusal is a failed write.
type Refusal struct {
	// Digest identifies the refused object: a different one is tried at once.
	Digest, Message string
	// Owner has the object, if that is the reason. Claimed: a tenant owns it and is about to write
	// it.
	Owner   string
	Claimed bool
	At      time.Time
	// Times counts refusals in a row.
	Times int
}

// Refuse records a failed write; before is the last refusal, or nil.
func Refuse(before *Refusal, digest string, why error, now time.Time) *Refusal {
	f := &Refusal{Digest: digest, Message: OneLine(why.Error()), At: now, Times: 1}
	if before != nil && before.Digest == digest {
		f.Times = before.Times + 1
	}
	return f
}

// Due is when the write is tried again.
func (f *Refusal) Due() time.Time {
	return f.At.Add(Backoff(ShortestPause, LongestRefusal, f.Times-1))
}
