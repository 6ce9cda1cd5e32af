// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package circuits

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Tick does the timed work: it starts and times out probes, shrinks or closes circuits, and drops
// old ones. It returns the stacks to probe, and those that are no longer paused although a circuit
// is open.
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
				// Failing stacks report that in their first reconciliations after the start.
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

// Next is when Tick is due without other events; zero for never.
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

// candidate is the next member to probe: from a namespace without a success yet, the one that
// waited longest, then the cheapest.
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

// Decline records that a stack cannot be probed now: it is suspended, locked or waiting.
func (b *Book) Decline(s Stack, now time.Time) (changed bool) {
	for _, c := range b.circuits {
		if !c.endProbe(s) {
			continue
		}
		changed = true
		c.ProbeAt = now
		// After all have been probed, probe them again after the pause.
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

// close ends an outage. Members stay until they succeed: they are the ones to retry.
func (c *Circuit) close(now time.Time, over bool) {
	if over {
		c.over = now
	}
	c.State, c.ClosedAt, c.ProbeAt = Closed, now, time.Time{}
	c.probing, c.probe, c.succeeded = false, Stack{}, nil
}

// Direct applies a person's mode; provider and namespaces select the stacks of their own circuits.
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
			kind = c.Kind // the kind of a detected circuit is known
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
		// Maintenance is over: probe members that failed during it; without any, close.
		if len(c.members) == 0 {
			c.close(now, true)
		} else {
			c.pause, c.ProbeAt = b.Options.FirstPause, now
		}
	}
	return true
}

// Release ends an outage because a person deleted its object. It may open again.
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

// Load restores a circuit of an earlier server.
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
