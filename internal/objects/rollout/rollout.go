// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/kit/times"
)

// The phases of a rollout.
const (
	PhaseIdle       = "Idle"
	PhaseInProgress = "InProgress"
	PhaseFailed     = "Failed"
	PhaseComplete   = "Complete"
)

// named is the number of names in a message.
const named = 5

func listed(names []string) string { return shorten.Names(names, named) }

// Facts are all facts about an original and its items.
type Facts struct {
	Now time.Time
	// MaxSkew is the maximum number of items on their way; 0 means no limit.
	MaxSkew int
	// HasCanary is true if some items get changes first.
	HasCanary bool
	// Deadline is how long an item may be on its way.
	Deadline time.Duration
	Last     Last
	Items    []Item
	Words    Words
}

// Words name items and their original in messages.
type Words struct {
	// One and Many are "tenant" and "tenants", Original is "template".
	One, Many, Original string
	// NoCanary says what to do if no item is a canary: "no tenant has the labels of X".
	NoCanary string
	// Broken begins the list of broken items: "these cannot be rendered".
	Broken string
}

// Last is the recorded state of the rollout.
type Last struct {
	// Began is when it began; zero if none is recorded.
	Began time.Time
	// Complete is true if it was complete, at Ended. Same is true if it was for the original's
	// current generation.
	Complete, Same bool
	Ended          time.Time
}

// Item is one thing that should get a change of the original.
type Item struct {
	Name string
	// Current is true if it has the original's generation.
	Current bool
	// Ready and Failed are its state now; the state before the last change does not count.
	Ready, Failed bool
	// Since is when it got the last change; zero if it was created with it, or was not ready then.
	Since time.Time
	// Waits is true if a person must act before it can be ready: then it has no deadline.
	Waits bool
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
func (b Item) onItsWay(began time.Time) bool {
	return !b.Since.IsZero() && !b.Ready && b.Since.Unix() >= began.Unix()
}

// Update is an item that gets the change now.
type Update struct {
	Name string
	// Starts is true if it is on its way from now on.
	Starts bool
}

// Decision lists the items that get a change now, and the progress.
type Decision struct {
	Update []Update
	Phase  string
	// Began is when the rollout began, to be recorded. An incomplete one continues if the original
	// changes again.
	Began time.Time
	// Total is the number of items to change. Updated counts those that have the change, Updating
	// those of them that are not ready yet, ReadyUpdated those that are ready.
	Total, Updated, Updating, ReadyUpdated int
	// Failed are the items that stop the rollout.
	Failed []string
	// Message describes the progress.
	Message string
	// NextCheck is when to decide again without an event.
	NextCheck time.Time
}

// Paused reports whether the rollout waits until failed items are ready, or the original changes.
func (d Decision) Paused() bool { return len(d.Failed) > 0 }

// Decide decides which items get a change now.
func Decide(f Facts) Decision {
	items := slices.SortedFunc(slices.Values(f.Items), func(a, b Item) int { return cmp.Compare(a.Name, b.Name) })
	var waiting []Item
	var broken []string
	d := Decision{}
	for _, t := range items {
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
		way = d.judge(f, items)
		if !d.Paused() {
			waiting, held = canaries(f, items, waiting)
			d.Update = pick(f, d.Began, way, waiting)
		}
	}
	d.tell(f, way, broken, held)
	return d
}

// beginning is when an unrecorded rollout begins: now, unless some items have the change already,
// because a server stopped before it recorded the rollout. These are on their way.
func beginning(f Facts) time.Time {
	began := f.Now
	for _, t := range f.Items {
		if t.Since.Unix() > f.Last.Ended.Unix() && t.Since.Before(began) && !t.Since.IsZero() {
			began = t.Since
		}
	}
	return began
}

// unbounded reports whether all items get the change at once, so that failed ones block no
// others.
func (f Facts) unbounded() bool { return f.MaxSkew <= 0 && !f.HasCanary }

// judge finds which items on their way have failed, and when the others will exceed the deadline.
// It returns the number on their way.
func (d *Decision) judge(f Facts, items []Item) int {
	way := 0
	for _, t := range items {
		if !t.onItsWay(d.Began) {
			continue
		}
		way++
		if !t.Current || t.Frozen {
			// Only the next change can fix an item that fails after an older change.
			continue
		}
		if t.Waits && !t.Failed {
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

// canaries returns the waiting items whose turn it is, and why the others must wait.
func canaries(f Facts, items, waiting []Item) ([]Item, string) {
	if !f.HasCanary || len(waiting) == 0 {
		return waiting, ""
	}
	some := false
	var unready []string
	for _, t := range items {
		if t.Canary && !t.Frozen {
			some = true
			if !t.Current || !t.Ready {
				unready = append(unready, t.Name)
			}
		}
	}
	switch {
	case !some:
		return nil, f.Words.NoCanary + ", so the rollout cannot start"
	case len(unready) == 0:
		return waiting, ""
	}
	first := slices.DeleteFunc(slices.Clone(waiting), func(t Item) bool { return !t.Canary })
	return first, "the others wait until these are ready: " + listed(unready)
}

// pick selects as many items as may be on their way.
func pick(f Facts, began time.Time, way int, waiting []Item) []Update {
	urgency := func(t Item) int {
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
	slices.SortStableFunc(waiting, func(a, b Item) int { return cmp.Compare(urgency(a), urgency(b)) })
	free := f.MaxSkew - way
	// Items that were not ready before need no place for long, but must not all change at once.
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
		updates = append(updates, Update{Name: t.Name, Starts: t.Ready || t.onItsWay(began)})
	}
	return updates
}

// tell sets the phase and the message.
func (d *Decision) tell(f Facts, way int, broken []string, held string) {
	switch {
	case d.Total == 0:
		d.Phase, d.Message = PhaseIdle, "no "+f.Words.One+" uses this "+f.Words.Original
		// Nothing has begun, so record nothing new.
		d.Began = f.Last.Began
		return
	case d.Paused():
		d.Phase = PhaseFailed
		d.Message = fmt.Sprintf("%d of %d %s have the change. The rollout is paused, because these have failed or were not ready after %s: %s. "+
			"It continues when they are ready, or when the %s changes", d.Updated, d.Total, f.Words.Many, f.Deadline, listed(d.Failed), f.Words.Original)
		return
	case d.Updated+len(broken) == d.Total && way == 0:
		d.Phase = PhaseComplete
	default:
		d.Phase = PhaseInProgress
	}
	parts := []string{fmt.Sprintf("%d of %d %s have the change, and %d of those are ready", d.Updated, d.Total, f.Words.Many, d.ReadyUpdated)}
	if held != "" {
		parts = append(parts, held)
	}
	if len(broken) > 0 {
		parts = append(parts, f.Words.Broken+": "+listed(broken))
	}
	d.Message = strings.Join(parts, "; ")
}
