// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Tick does what is due by time alone: it begins and gives up probes, makes smaller or closes what concerns fewer or nobody,
// and forgets what has been closed for long. It says whether anything changed, and whom to look at because of it: those who
// are to be probed, and those who need not rest any more although a circuit is open.
func (b *Book) Tick(now time.Time) (changed bool, probes, free []Stack) {
	for _, c := range b.circuits {
		smaller, left := b.review(c, now)
		changed, free = changed || smaller, append(free, left...)
		if c.probing && !now.Before(c.probedAt.Add(b.Options.ProbeTimeout)) {
			c.endProbe(c.probe)
			c.ProbeAt = now
		}
		if c.probing || c.Mode != Automatic || !c.IsOpen() || now.Before(c.ProbeAt) {
			continue
		}
		changed = true
		if len(c.members) == 0 {
			if c.loaded.IsZero() || !now.Before(c.loaded.Add(b.Options.MaxPause)) {
				c.close(now, true)
			} else {
				// Stacks that failed report that in their first passes after the start.
				c.ProbeAt = now.Add(b.Options.FirstPause)
			}
			continue
		}
		c.probe, c.probing, c.probedAt, c.ProbeAt = c.candidate(), true, now, time.Time{}
		c.members[c.probe].probed = now
		probes = append(probes, c.probe)
	}
	before := len(b.circuits)
	b.circuits = slices.DeleteFunc(b.circuits, func(c *Circuit) bool {
		return !c.IsOpen() && c.Mode != HeldClosed && !now.Before(c.ClosedAt.Add(b.Options.Keep))
	})
	return changed || len(b.circuits) != before, probes, free
}

// Next is when Tick has something to do if nothing else happens; zero for never.
func (b *Book) Next() time.Time {
	var next time.Time
	sooner := func(t time.Time) {
		if next.IsZero() || t.Before(next) {
			next = t
		}
	}
	for _, c := range b.circuits {
		switch {
		case c.probing:
			sooner(c.probedAt.Add(b.Options.ProbeTimeout))
		case c.IsOpen() && c.Mode == Automatic:
			sooner(c.ProbeAt)
		case !c.IsOpen() && c.Mode != HeldClosed:
			sooner(c.ClosedAt.Add(b.Options.Keep))
		}
	}
	return next
}

// candidate is the member to be probed next: of a namespace where none has succeeded yet, the one that waited longest, the
// cheapest of those.
func (c *Circuit) candidate() Stack {
	fine := map[string]int{}
	for s := range c.succeeded {
		fine[s.Namespace] = 1
	}
	all := c.Members(len(c.members))
	return slices.MinFunc(all, func(a, b Stack) int {
		x, y := c.members[a], c.members[b]
		return cmp.Or(cmp.Compare(fine[a.Namespace], fine[b.Namespace]), x.probed.Compare(y.probed), cmp.Compare(x.cost, y.cost), strings.Compare(a.String(), b.String()))
	})
}

// Decline says that a stack cannot be probed now: it is suspended, locked or waits for something.
func (b *Book) Decline(s Stack, now time.Time) (changed bool) {
	for _, c := range b.circuits {
		if !c.endProbe(s) {
			continue
		}
		changed = true
		c.ProbeAt = now
		// When all have been probed, they are probed again after the pause.
		if m := c.members[c.candidateOr(s)]; m == nil || !m.probed.Before(c.probedAt.Add(-c.pause)) {
			c.ProbeAt = now.Add(max(c.pause, b.Options.FirstPause))
		}
	}
	return changed
}

func (c *Circuit) candidateOr(s Stack) Stack {
	if len(c.members) == 0 {
		return s
	}
	return c.candidate()
}

// close ends an outage, or what was taken for one. Members stay until they are seen to succeed: they are the ones to be
// tried again.
func (c *Circuit) close(now time.Time, over bool) {
	if over {
		c.over = now
	}
	c.State, c.ClosedAt, c.ProbeAt = Closed, now, time.Time{}
	c.probing, c.probe, c.succeeded = false, Stack{}, nil
}

// Direct does what people want of a circuit: selector is what a circuit that they made themselves is about.
func (b *Book) Direct(name string, mode Mode, provider string, namespaces []string, now time.Time) (changed bool) {
	c := b.Find(name)
	if c == nil {
		if mode == Automatic {
			return false
		}
		c = &Circuit{Name: name, Mode: Automatic, State: Closed, ClosedAt: now}
		b.circuits = append(b.circuits, c)
		changed = true
	}
	if mode == HeldOpen && (provider != "" || len(namespaces) > 0) || mode == HeldClosed && provider != "" {
		kind := Kind{Provider: ShortProvider(provider), Cause: c.Kind.Cause, Summary: c.Kind.Summary}
		if provider == "" && (kind.Cause != "" || kind.Summary != "") {
			kind = c.Kind // of one that was seen, it is known what it is about
		}
		sorted := slices.Sorted(slices.Values(namespaces))
		changed = changed || c.Kind != kind || !slices.Equal(c.Namespaces, sorted)
		c.Kind, c.Namespaces = kind, sorted
	}
	if c.Mode == mode {
		return changed
	}
	before := c.Mode
	c.Mode = mode
	switch {
	case mode == HeldOpen && !c.IsOpen():
		c.State, c.OpenedAt, c.ProbeAt, c.Openings = Open, now, time.Time{}, c.Openings+1
		c.Affected, c.members = 0, nil
	case mode == HeldOpen:
		c.State, c.ProbeAt, c.probing, c.succeeded = Open, time.Time{}, false, nil
	case mode == HeldClosed && c.IsOpen():
		c.close(now, true)
	case mode == Automatic && before == HeldOpen && c.IsOpen():
		// The work is done: what failed meanwhile is probed, and if nothing did, it is over.
		if len(c.members) == 0 {
			c.close(now, true)
		} else {
			c.pause, c.ProbeAt = b.Options.FirstPause, now
		}
	}
	return true
}

// Release ends an outage because a person says so, by deleting its object. It may come back.
func (b *Book) Release(name string, now time.Time) (changed bool) {
	c := b.Find(name)
	if c == nil {
		return false
	}
	c.Mode = Automatic
	if c.IsOpen() {
		c.close(now, true)
	}
	return true
}

// Load takes over a circuit from an earlier life.
func (b *Book) Load(c Circuit, now time.Time) {
	c.loaded, c.pause, c.over = now, b.Options.FirstPause, c.ClosedAt
	if c.State == HalfOpen {
		c.State = Open
	}
	if c.IsOpen() && c.Mode == Automatic {
		c.ProbeAt = now.Add(c.pause)
	}
	b.circuits = append(b.circuits, &c)
}
