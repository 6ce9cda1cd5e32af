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
	// Rest: nothing until somebody changes the object.
	Rest Verb = "rest"
	// Wait: nothing until the look under way ends, or until NextCheck.
	Wait Verb = "wait"
	// Look: ask the upstream.
	Look Verb = "look"
)

// Facts are all that the decision depends on.
type Facts struct {
	Now time.Time
	// Deleting and Suspended are the object's.
	Deleting, Suspended bool
	// Looking is true while a look is under way.
	Looking bool
	// Generation is the object's, Looked the one that was looked at last, 0 when none was.
	Generation, Looked int64
	// Requested is what somebody asks to be looked at now, Answered the request that was looked at last.
	Requested, Answered string
	// News is true when something that the source depends on said that it has changed.
	News bool
	// LastLook is when the last look ended, Failures how many in a row failed up to then.
	LastLook time.Time
	Failures int
	// Stalled is true when the last look found that the source itself must be changed.
	Stalled bool
	// Interval is the object's. Jitter, from -1 to 1, spreads the looks of many objects.
	Interval time.Duration
	Jitter   float64
}

// Decision is what to do and why.
type Decision struct {
	Verb Verb
	// Fresh is true when a remembered answer will not do.
	Fresh  bool
	Reason string
	// NextCheck is when to decide again; zero when only an event can change the decision.
	NextCheck time.Time
}

func (d Decision) String() string { return fmt.Sprintf("%s: %s", d.Verb, d.Reason) }

// spread is how much of the interval the jitter may add or take: Flux's default.
const spread = 0.05

// firstRetry is how long after the first failure the upstream is asked again.
const firstRetry = 2 * time.Second

// minInterval keeps an interval of zero from becoming a loop.
const minInterval = time.Second

// When decides whether to look now. The first rule that applies wins.
func When(f Facts) Decision {
	due := f.Due()
	switch {
	// What is stored goes with the last reference to it; there is nothing to be done.
	case f.Deleting:
		return Decision{Verb: Rest, Reason: "the object is being deleted"}
	case f.Suspended:
		return Decision{Verb: Rest, Reason: "the object is suspended"}
	// The end of the look is an event.
	case f.Looking:
		return Decision{Verb: Wait, Reason: "a look is under way"}
	// A request comes before other reasons: its look must be fresh.
	case f.Requested != f.Answered && f.Requested != "":
		return Decision{Verb: Look, Fresh: true, Reason: "asked for at " + f.Requested}
	case f.Looked == 0:
		return Decision{Verb: Look, Reason: "first look"}
	// Whoever changed the object may have changed the upstream just before.
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

// Due is when the next look comes without any other reason.
func (f Facts) Due() time.Time {
	interval := max(f.Interval, minInterval)
	pause := interval + time.Duration(spread*f.Jitter*float64(interval))
	if f.Failures > 0 && !f.Stalled {
		pause = min(pause, Backoff(f.Failures, interval))
	}
	return f.LastLook.Add(pause)
}

// Backoff is the pause after a number of failures in a row, at least one: it doubles until it is the interval.
func Backoff(failures int, interval time.Duration) time.Duration {
	pause := firstRetry
	for i := 1; i < failures && pause < interval; i++ {
		pause *= 2
	}
	return min(pause, interval)
}
