// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/moment"
)

// RolloutFacts are all that is known of a template and its tenants.
type RolloutFacts struct {
	Now time.Time
	// MaxSkew is how many tenants may be on their way at a time; 0 for any number.
	MaxSkew int
	// HasCanary is true when some tenants get changes first.
	HasCanary bool
	// Deadline is how long a tenant may be on its way.
	Deadline time.Duration
	Last     Last
	Tenants  []Bringing
}

// Last is what was recorded of the rollout.
type Last struct {
	// Began is when it began; zero when there is none on record.
	Began time.Time
	// Complete is true when it was complete, and Ended is when. Same is true when it was for the generation that the template
	// has now.
	Complete, Same bool
	Ended          time.Time
}

// Bringing is a tenant that a change of its template has to reach.
type Bringing struct {
	Name string
	// Current is true when it has the template's generation.
	Current bool
	// Ready is true when it is ready as it is now: what was seen of an older state does not count. Failed is true when it
	// has failed as it is now.
	Ready, Failed bool
	// Since is when the last change was brought to it; zero for one that was made with it, or was not ready when it came.
	Since time.Time
	// Canary is true when it gets changes first.
	Canary bool
	// Broken is true when it cannot be rendered with this generation: there is no use in trying. Refused is true when the API did
	// not take it with this generation: it is tried again, and takes no place of another.
	Broken, Refused bool
	// Frozen is true when nothing is changed about it now.
	Frozen bool
}

// onItsWay tells whether a change has been brought to it since the rollout began, and it is not ready yet. What becomes of a
// tenant after a rollout is complete has nothing to do with it. Times are written down in whole seconds.
func (b Bringing) onItsWay(began time.Time) bool {
	return !b.Since.IsZero() && !b.Ready && b.Since.Unix() >= began.Unix()
}

// RolloutDecision is which tenants get a change now, and how far it is.
type RolloutDecision struct {
	Update []Update
	Phase  string
	// Began is when the rollout began, to be recorded. One that was not complete when the template changed again goes on.
	Began time.Time
	// Total is how many tenants the change is for, Updated how many have it, Updating how many of those are not ready, and
	// ReadyUpdated how many are.
	Total, Updated, Updating, ReadyUpdated int
	// Failed are the tenants because of which nothing more is changed.
	Failed []string
	// Message says the same for people.
	Message string
	// NextCheck is when to look again even if nothing happens.
	NextCheck time.Time
}

// Paused tells whether nothing more is changed before those that have failed are ready, or the template changes.
func (d RolloutDecision) Paused() bool { return len(d.Failed) > 0 }

// Rollout says which tenants get a change of their template now.
func Rollout(f RolloutFacts) RolloutDecision {
	tenants := slices.SortedFunc(slices.Values(f.Tenants), func(a, b Bringing) int { return cmp.Compare(a.Name, b.Name) })
	var waiting []Bringing
	var broken []string
	d := RolloutDecision{}
	for _, t := range tenants {
		if t.Frozen {
			continue
		}
		d.Total++
		switch {
		case t.Current && t.Ready:
			d.Updated++
			d.ReadyUpdated++
		case t.Current:
			d.Updated++
			d.Updating++
		case t.Broken:
			broken = append(broken, t.Name)
		default:
			waiting = append(waiting, t)
		}
	}
	over := f.Last.Complete && f.Last.Same && len(waiting) == 0
	if d.Began = f.Last.Began; d.Began.IsZero() || f.Last.Complete && !over {
		d.Began = beginning(f)
	}
	way, held := 0, ""
	if !over {
		way = d.judge(f, tenants)
		if !d.Paused() {
			waiting, held = canaries(f, tenants, waiting)
			d.Update = pick(f, d.Began, way, waiting)
		}
	}
	d.tell(f, way, broken, held)
	return d
}

// beginning is when a rollout begins that is not on record: now, unless some tenants have got it already. A server that ends
// before it has recorded the rollout leaves those behind, and they are on their way.
func beginning(f RolloutFacts) time.Time {
	began := f.Now
	for _, t := range f.Tenants {
		if t.Since.Unix() > f.Last.Ended.Unix() && t.Since.Before(began) && !t.Since.IsZero() {
			began = t.Since
		}
	}
	return began
}

// unbounded tells whether every tenant gets the change at once: then none has to wait because another one has failed.
func (f RolloutFacts) unbounded() bool { return f.MaxSkew <= 0 && !f.HasCanary }

// judge finds out which tenants that are on their way have failed, and when the others will have. It returns how many there are.
func (d *RolloutDecision) judge(f RolloutFacts, tenants []Bringing) int {
	way := 0
	for _, t := range tenants {
		if !t.onItsWay(d.Began) {
			continue
		}
		way++
		if !t.Current || t.Frozen {
			// It is the next change that has to help one which an older change has left behind.
			continue
		}
		deadline := t.Since.Add(f.Deadline)
		if t.Failed || !deadline.After(f.Now) {
			if f.unbounded() {
				way--
			} else {
				d.Failed = append(d.Failed, t.Name)
			}
			continue
		}
		d.NextCheck = moment.Earlier(d.NextCheck, deadline)
	}
	return way
}

// canaries leaves of those that wait the ones whose turn it is, and says why the others have to wait.
func canaries(f RolloutFacts, tenants, waiting []Bringing) ([]Bringing, string) {
	if !f.HasCanary || len(waiting) == 0 {
		return waiting, ""
	}
	some := false
	var unready []string
	for _, t := range tenants {
		if t.Canary && !t.Frozen {
			some = true
			if !t.Current || !t.Ready {
				unready = append(unready, t.Name)
			}
		}
	}
	switch {
	case !some:
		return nil, "no tenant has the labels of spec.rollout.canary, so nobody can be first"
	case len(unready) == 0:
		return waiting, ""
	}
	first := slices.DeleteFunc(slices.Clone(waiting), func(t Bringing) bool { return !t.Canary })
	return first, "the others wait until these are ready: " + list(unready)
}

// pick takes as many as may be on their way.
func pick(f RolloutFacts, began time.Time, way int, waiting []Bringing) []Update {
	urgency := func(t Bringing) int {
		switch {
		case t.Refused:
			return 3
		case t.onItsWay(began):
			// With an older change. It takes no place of another, and needs help most.
			return 0
		case !t.Ready:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(waiting, func(a, b Bringing) int { return cmp.Compare(urgency(a), urgency(b)) })
	free := f.MaxSkew - way
	// Those that were not ready before take no place for long, but are not changed all at once either.
	unready := f.MaxSkew
	var updates []Update
	for _, t := range waiting {
		switch {
		case f.MaxSkew <= 0, t.onItsWay(began):
			// Without limit, or counted already.
		case !t.Ready:
			if unready--; unready < 0 {
				continue
			}
		default:
			if free--; free < 0 {
				continue
			}
		}
		updates = append(updates, Update{Tenant: t.Name, Starts: t.Ready || t.onItsWay(began)})
	}
	return updates
}

// tell finds the phase and its words.
func (d *RolloutDecision) tell(f RolloutFacts, way int, broken []string, held string) {
	switch {
	case d.Total == 0:
		d.Phase, d.Message = PhaseIdle, "no tenant has this template"
		// Nothing has begun, and nothing new is to be recorded.
		d.Began = f.Last.Began
		return
	case d.Paused():
		d.Phase = PhaseFailed
		d.Message = fmt.Sprintf("%d of %d tenants have the change. Nothing more is changed, because these have failed or were not ready after %s: %s. "+
			"It goes on when they are ready, or when the template changes", d.Updated, d.Total, f.Deadline, list(d.Failed))
		return
	case d.Updated+len(broken) == d.Total && way == 0:
		d.Phase = PhaseComplete
	default:
		d.Phase = PhaseInProgress
	}
	parts := []string{fmt.Sprintf("%d of %d tenants have the change, and %d of those are ready", d.Updated, d.Total, d.ReadyUpdated)}
	if held != "" {
		parts = append(parts, held)
	}
	if len(broken) > 0 {
		parts = append(parts, "these cannot be rendered: "+list(broken))
	}
	d.Message = strings.Join(parts, "; ")
}
