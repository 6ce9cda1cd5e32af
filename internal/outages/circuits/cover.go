// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package circuits

import "time"

// Cover is the effect of a circuit on a stack.
type Cover struct {
	Name string
	// Open: the stack applies nothing without approval.
	Open bool
	// Failed: the stack had the same failure. It is paused until Probe selects it, or until
	// ResumeAt once the circuit has closed.
	Failed   bool
	Probe    bool
	ResumeAt time.Time
	// ClosedAt is zero while the circuit is open.
	ClosedAt time.Time
	// What describes the failure that the stacks share, see [Circuit.What].
	What string
}

// Cover returns the effect of the circuit that concerns a stack with these providers. It prefers an
// open circuit, then one with the stack as a member, then the one that closed last.
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

// What describes the failure that the stacks share, as part of a sentence.
func (c *Circuit) What() string {
	switch k := c.Kind; {
	case k.Provider != "" && k.Cause == "" && k.Summary == "":
		// Only a person opens a circuit without failures.
		return "provider " + k.Provider + " is under maintenance"
	case k == Kind{} && len(c.Namespaces) > 0:
		return "these namespaces are paused manually"
	case k == Kind{}:
		return "these stacks are paused manually"
	}
	return c.Kind.String()
}
