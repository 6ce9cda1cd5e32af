// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package impact

import "slices"

// Walk goes through what changes reach, level by level, while somebody plans the stacks of each level:
// the planned outputs of one level are what the next one reads.
type Walk struct {
	// Map has the edges, and Of the stacks that change first.
	Map *Map
	Of  []string
	// Plans are the plans so far. Whoever walks adds those that it makes.
	Plans Plans
	// Impact is what is reached, as far as the plans tell.
	Impact Impact

	done map[string]bool
}

// Step is one level of a walk.
type Step struct {
	// Open are the stacks to plan. Rests do not run: nothing that they read changes.
	Open, Rests []Reached
	// Blocked read from stacks that have no plan, by name: see [Walk.Needs].
	Blocked []Reached
}

// Next returns the next level; ok is false after the last one.
func (w *Walk) Next() (s Step, ok bool) {
	if w.done == nil {
		w.done = map[string]bool{}
	}
	w.Impact = w.Map.ImpactOfAll(w.Of, w.Plans)
	for _, level := range w.Impact.Levels {
		var next []Reached
		for _, r := range level {
			if !w.done[r.Stack] {
				next, w.done[r.Stack] = append(next, r), true
			}
		}
		if next == nil {
			continue
		}
		for _, r := range next {
			switch {
			case r.Effect == Rests:
				s.Rests = append(s.Rests, r)
			case len(w.Needs(r)) > 0:
				s.Blocked = append(s.Blocked, r)
			default:
				s.Open = append(s.Open, r)
			}
		}
		return s, true
	}
	return s, false
}

// Needs are the stacks that a stack reads from, that would run, and that have no plan.
func (w *Walk) Needs(r Reached) (producers []string) {
	for _, producer := range r.From {
		if _, planned := w.Plans[producer]; !planned {
			producers = append(producers, producer)
		}
	}
	return slices.Clip(producers)
}
