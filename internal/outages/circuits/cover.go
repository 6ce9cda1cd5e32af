// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package circuits

import "time"

// Cover is what a circuit means for a stack.
type Cover struct {
	Name string
	// Open: nothing of the stack is applied without approval.
	Open bool
	// Failed: the stack failed alike, and pauses until Probe selects it, or until ResumeAt once the
	// circuit has closed.
	Failed   bool
	Probe    bool
	ResumeAt time.Time
	// ClosedAt is zero while it is open.
	ClosedAt time.Time
	// What describes the common failure.
	What string
}

// Cover returns the circuit that concerns a stack with these providers: an open one first, then one
// that has the stack as a member, then the last one.
func (b *Book) Cover(s Stack, providers []string) (Cover, bool) {
	if l := b.stacks[s]; providers == nil && l != nil {
		providers = l.providers
	}
	var best *Circuit
	for _, c := range b.circuits {
		if (c.IsOpen() || !c.OpenedAt.IsZero()) && c.concerns(s, providers) && (best == nil || c.before(best, s)) {
			best = c
		}
	}
	if best == nil {
		return Cover{}, false
	}
	cover := Cover{Name: best.Name, Open: best.IsOpen(), Failed: best.members[s] != nil, Probe: best.probing && best.probe == s, What: best.What()}
	if !cover.Open {
		cover.ClosedAt = best.ClosedAt
		if cover.Failed {
			cover.ResumeAt = best.resumeAt(s, b.Options)
		}
	}
	return cover, true
}

// before reports whether a circuit matters more to a stack than another.
func (c *Circuit) before(other *Circuit, s Stack) bool {
	if c.IsOpen() != other.IsOpen() {
		return c.IsOpen()
	}
	if mine, its := c.members[s] != nil, other.members[s] != nil; mine != its {
		return mine
	}
	if c.IsOpen() {
		return c.OpenedAt.Before(other.OpenedAt)
	}
	return c.ClosedAt.After(other.ClosedAt)
}

// What describes the common failure, as part of a sentence.
func (c *Circuit) What() string {
	switch k := c.Kind; {
	case k.Provider != "" && k.Cause == "" && k.Summary == "":
		// Without failures it can only be a person who opened it.
		return "provider " + k.Provider + " is under maintenance"
	case k == Kind{} && len(c.Namespaces) > 0:
		return "these namespaces are paused manually"
	case k == Kind{}:
		return "these stacks are paused manually"
	}
	return c.Kind.String()
}
