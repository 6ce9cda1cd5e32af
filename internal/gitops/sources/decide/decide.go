// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"time"
)

// Verb is what to do with a source.
type Verb string

const (
	// Rest: nothing until the object changes.
	Rest Verb = "rest"
	// Wait: nothing until the current look ends, or until NextCheck.
	Wait Verb = "wait"
	// Look: query the upstream.
	Look Verb = "look"
)

// Facts are all facts of the decision.
type Facts struct {
	Now time.Time
	// Deleting and Suspended are the state of the object.
	Deleting, Suspended bool
	// Looking is true if a look is running.
	Looking bool
	// Generation is the object's, Looked that of the last look, 0 for none.
	Generation, Looked int64
	// Requested is the current request for a look, Answered the last handled one.
	Requested, Answered string
	// News is true if a dependency of the source has changed.
	News bool
	// LastLook is the end of the last look, Failures the number of consecutive failures until then.
	LastLook time.Time
	Failures int
	// Stalled is true if after the last look the source must be changed.
	Stalled bool
	// Interval is the object's. Jitter, from -1 to 1, spreads the looks of many objects.
	Interval time.Duration
	Jitter   float64
}

// Decision is what to do and why.
type Decision struct {
	Verb Verb
	// Fresh is true if a shared look is not sufficient.
	Fresh  bool
	Reason string
	// NextCheck is when to decide again; zero if only an event changes the decision.
	NextCheck time.Time
}

func (d Decision) String() string { return fmt.Sprintf("%s: %s", d.Verb, d.Reason) }

// spread is the maximum jitter as a part of the interval: Flux's default.
const spread = 0.05

// firstRetry is the delay after the first failure.
const firstRetry = 2 * time.Second

// minInterval prevents a busy loop with an interval of zero.
const minInterval = time.Second

// When decides whether to look now. The first matching rule counts.
func When(f Facts) Decision {
	due := f.Due()
	switch {
	// Archives are deleted with their last reference.
	case f.Deleting:
		return Decision{Verb: Rest, Reason: "the object is being deleted"}
	case f.Suspended:
		return Decision{Verb: Rest, Reason: "the object is suspended"}
	// The end of the look is an event.
	case f.Looking:
		return Decision{Verb: Wait, Reason: "a look is under way"}
	// Check requests before other reasons: their look must be fresh.
	case f.Requested != f.Answered && f.Requested != "":
		return Decision{Verb: Look, Fresh: true, Reason: "requested at " + f.Requested}
	case f.Looked == 0:
		return Decision{Verb: Look, Reason: "first look"}
	// The author of the change may have changed the upstream just before.
	case f.Generation != f.Looked:
		return Decision{Verb: Look, Fresh: true, Reason: fmt.Sprintf("generation %d", f.Generation)}
	case f.News:
		return Decision{Verb: Look, Reason: "news"}
	case due.After(f.Now):
		return Decision{Verb: Wait, Reason: "not due", NextCheck: due}
	case f.Failures > 0:
		return Decision{Verb: Look, Reason: fmt.Sprintf("retry after %d failures", f.Failures)}
	}
	return Decision{Verb: Look, Reason: "interval"}
}

// Due is when the next look is due without another reason.
func (f Facts) Due() time.Time {
	interval := max(f.Interval, minInterval)
	pause := interval + time.Duration(spread*f.Jitter*float64(interval))
	if f.Failures > 0 && !f.Stalled {
		pause = min(pause, Backoff(f.Failures, interval))
	}
	return f.LastLook.Add(pause)
}

// Backoff returns the delay after a number of consecutive failures: it doubles up to the interval.
func Backoff(failures int, interval time.Duration) time.Duration {
	pause := firstRetry
	for i := 1; i < failures && pause < interval; i++ {
		pause *= 2
	}
	return min(pause, interval)
}
