// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/times"
)

// RolloutFacts are all facts about a template and its tenants.
type RolloutFacts struct {
	Now time.Time
	// MaxSkew is the maximum number of tenants on their way; 0 means no limit.
	MaxSkew int
	// HasCanary is true if some tenants get changes first.
	HasCanary bool
	// Deadline is how long a tenant may be on its way.
	Deadline time.Duration
	Last     Last
	Tenants  []Bringing
}

// Last is the recorded state of the rollout.
type Last struct {
	// Began is when it began; zero if none is recorded.
	Began time.Time
	// Complete is true if it was complete, at Ended. Same is true if it was for the template's
	// current generation.
	Complete, Same bool
	Ended          time.Time
}

// Bringing is a tenant that should get a template change.
type Bringing struct {
	Name string
	// Current is true if it has the template's generation.
	Current bool
	// Ready and Failed are its state now; the state before the last change does not count.
	Ready, Failed bool
	// Since is when it got the last change; zero if it was created with it, or was not ready then.
	Since time.Time
	// Canary is true when it gets changes first.
	Canary bool
	// Broken is true if it cannot be rendered with this generation: retrying is useless. Refused is
	// true if the API refused it with this generation: it is retried, and uses no place.
	Broken, Refused bool
	// Frozen is true if it must not be changed now.
	Frozen bool
}

// onItsWay reports whether it got a change since the rollout began, and is not ready yet. Its state
// after a completed rollout does not matter. Times are stored in whole seconds.
func (b Bringing) onItsWay(began time.Time) bool {
	return !b.Since.IsZero() && !b.Ready && b.Since.Unix() >= began.Unix()
}

// RolloutDecision lists the tenants that get a change now, and the progress.
type RolloutDecision struct {
	Update []Update
	Phase  string
	// Began is when the rollout began, to be recorded. An incomplete one continues if the template
	// changes again.
	Began time.Time
	// Total is the number of tenants to change. Updated counts those that have the change, Updating
	// those of them that are not ready yet, ReadyUpdated those that are ready.
	Total, Updated, Updating, ReadyUpdated int
	// Failed are the tenants that stop the rollout.
	Failed []string
	// Message describes the progress.
	Message string
	// NextCheck is when to decide again without an event.
	NextCheck time.Time
}

// Paused reports whether the rollout waits until failed tenants are ready, or the template changes.
func (d RolloutDecision) Paused() bool { return len(d.Failed) > 0 }

// Rollout decides which tenants get a template change now.
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

// beginning is when an unrecorded rollout begins: now, unless some tenants have the change already,
// because a server stopped before it recorded the rollout. These are on their way.
func beginning(f RolloutFacts) time.Time {
	began := f.Now
	for _, t := range f.Tenants {
		if t.Since.Unix() > f.Last.Ended.Unix() && t.Since.Before(began) && !t.Since.IsZero() {
			began = t.Since
		}
	}
	return began
}

// unbounded reports whether all tenants get the change at once, so that failed ones block no
// others.
func (f RolloutFacts) unbounded() bool { return f.MaxSkew <= 0 && !f.HasCanary }

// judge finds which tenants on their way have failed, and when the others will exceed the deadline.
// It returns the number on their way.
func (d *RolloutDecision) judge(f RolloutFacts, tenants []Bringing) int {
	way := 0
	for _, t := range tenants {
		if !t.onItsWay(d.Began) {
			continue
		}
		way++
		if !t.Current || t.Frozen {
			// Only the next change can fix a tenant that fails after an older change.
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
		d.NextCheck = times.Earlier(d.NextCheck, deadline)
	}
	return way
}

// canaries returns the waiting tenants whose turn it is, and why the others must wait.
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
		return nil, "no tenant has the labels of spec.rollout.canary, so the rollout cannot start"
	case len(unready) == 0:
		return waiting, ""
	}
	first := slices.DeleteFunc(slices.Clone(waiting), func(t Bringing) bool { return !t.Canary })
	return first, "the others wait until these are ready: " + List(unready)
}

// pick selects as many tenants as may be on their way.
func pick(f RolloutFacts, began time.Time, way int, waiting []Bringing) []Update {
	urgency := func(t Bringing) int {
		switch {
		case t.Refused:
			return 3
		case t.onItsWay(began):
			// It is on its way with an older change. It takes no further place, and needs the
			// change most.
			return 0
		case !t.Ready:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(waiting, func(a, b Bringing) int { return cmp.Compare(urgency(a), urgency(b)) })
	free := f.MaxSkew - way
	// Tenants that were not ready before need no place for long, but must not all change at once.
	unready := f.MaxSkew
	var updates []Update
	for _, t := range waiting {
		switch {
		case f.MaxSkew <= 0, t.onItsWay(began):
			// No limit, or counted already.
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

// tell sets the phase and the message.
func (d *RolloutDecision) tell(f RolloutFacts, way int, broken []string, held string) {
	switch {
	case d.Total == 0:
		d.Phase, d.Message = PhaseIdle, "no tenant uses this template"
		// Nothing has begun, so record nothing new.
		d.Began = f.Last.Began
		return
	case d.Paused():
		d.Phase = PhaseFailed
		d.Message = fmt.Sprintf("%d of %d tenants have the change. The rollout is paused, because these have failed or were not ready after %s: %s. "+
			"It continues when they are ready, or when the template changes", d.Updated, d.Total, f.Deadline, List(d.Failed))
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
		parts = append(parts, "these cannot be rendered: "+List(broken))
	}
	d.Message = strings.Join(parts, "; ")
}
