// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import "time"

// refuse counts an attempt without usable artifact or inputs. As in tofu-controller it counts like
// a failed run, and a change or a request resets the count.
func refuse(f Facts, d Decision) Decision {
	if !countsRefusals(f, d) {
		return d
	}
	so := f.Refused.Failures
	switch due := f.Refused.At.Add(retryWait(f.Stack, so)); {
	case refusedAnew(f):
		so, d.Failures = 1, 1
	case outOfAttempts(f, so):
	case f.Now.Before(due):
		d.NextCheck = due
		return d
	default:
		so++
		d.Failures = so
	}
	d.Spent, d.NextCheck = outOfAttempts(f, so), f.Now.Add(retryWait(f.Stack, so))
	if d.Spent {
		d.NextCheck = time.Time{}
	}
	return d
}

// countsRefusals: a missing object is not an attempt. Count only if a limit or a backoff needs it,
// because each count is a write to the API.
func countsRefusals(f Facts, d Decision) bool {
	grows := f.Stack.MaxRetryInterval > 0 && !d.NextCheck.IsZero()
	return f.Source.Revision != "" && d.Reason != ReasonAccessDenied && (f.Stack.MaxFailures > 0 || grows)
}

// refusedAnew reports the first attempt, or the first since a change or a request.
func refusedAnew(f Facts) bool {
	r := f.Refused
	return r.At.IsZero() || r.Generation != f.Stack.Generation || r.Revision != f.Source.Revision || requested(f)
}

func outOfAttempts(f Facts, failures int) bool {
	return f.Stack.MaxFailures > 0 && failures >= f.Stack.MaxFailures
}
