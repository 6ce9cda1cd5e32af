// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"slices"
	"time"
)

// State is where a Pod is in its life.
type State int

const (
	// Starting Pods have not polled yet.
	Starting State = iota
	// Idle Pods wait for a run, and Working ones have one.
	Idle
	Working
	// Leaving Pods have a run, and get no other.
	Leaving
	// Ending Pods have been deleted, or their container has ended.
	Ending
)

// Pod is what Scale needs to know of a Pod.
type Pod struct {
	Home, Place string
	State       State
	// Since is when the Pod came into this state, Created when it was created.
	Since, Created time.Time
	// Stuck is true for a Pod that cannot start until somebody acts.
	Stuck bool
	// Left is how much longer the run of a working Pod is expected to take.
	Left time.Duration
}

// Waiting is a run without a Pod.
type Waiting struct {
	Place string
	// Cost is how long it is expected to take.
	Cost time.Duration
	// Awaited is true if a person waits for it.
	Awaited bool
}

// Facts are everything that Scale decides by.
type Facts struct {
	Now time.Time
	// Max limits the Pods that are not ending.
	Max int
	// IdleFor is how long an idle Pod stays.
	IdleFor time.Duration
	// Waiting runs are in the order in which they begin.
	Waiting []Waiting
	Pods    []Pod
	// Blocked are places where no Pod may be created for now.
	Blocked map[string]bool
}

// Actions are the decisions.
type Actions struct {
	// Create are places of new Pods, one for each entry. Delete are homes of idle Pods, and Leave
	// those of working Pods that get no other run.
	Create, Delete, Leave []string
	// Next is when the answer may change though the facts do not; zero if never.
	Next time.Time
}

// backlog is how long a run may wait for a Pod of its place before it gets another one, and
// awaitedBacklog that of a run that a person waits for: about what the start of a Pod takes. Pods
// that share few cores make each other's runs, and with them these waits, longer.
const (
	backlog        = 10 * time.Second
	awaitedBacklog = 3 * time.Second
)

// soon is when a backlog is looked at again: runs may take longer than expected.
const soon = time.Second

// turn is how long a Pod serves its place before it makes room for a place that has none.
const turn = 10 * time.Second

// unknownCost is the expected duration of a run of which nothing is known.
const unknownCost = time.Second

// Scale decides which Pods to create and delete.
//
// The first waiting run of a place gets a Pod at once, and others share it until one would wait for
// long; then the place's Pods double. If there are as many Pods as allowed, idle ones of places without waiting runs make
// room, the one that has been idle longest first. Where none is idle, a Pod that has had its turn
// leaves after its run, from the place that has most.
func Scale(f Facts) Actions {
	s := scaling{Facts: f, free: map[string][]Pod{}, starting: map[string]int{}, busy: map[string][]Pod{}, loads: map[string][]time.Duration{},
		asked: map[string]bool{}, stuck: map[string]bool{}, has: map[string]bool{}, wanted: map[string]bool{}}
	for _, w := range f.Waiting {
		s.wanted[w.Place] = true
	}
	for _, p := range f.Pods {
		s.add(p)
	}
	// Places without a Pod come first: the others have one that will be free.
	for _, served := range []bool{false, true} {
		for _, w := range f.Waiting {
			if s.has[w.Place] == served {
				s.serve(w)
			}
		}
	}
	s.retire()
	return s.actions
}

// scaling is a decision in the making.
type scaling struct {
	Facts
	actions Actions
	// count is the number of Pods that are not ending, leaving those of them that make room for a
	// place that was not served yet. By place, free are those without a run, and busy those with one.
	count, leaving int
	free, busy     map[string][]Pod
	// starting counts the Pods of a place that do not work yet, those to be created included.
	starting map[string]int
	// loads are how long the next run would wait for each Pod of a place that takes runs, those to be
	// created included.
	loads map[string][]time.Duration
	// wanted are places with waiting runs, asked those for which a Pod leaves, stuck those with a Pod
	// that cannot start, and has those with any Pod.
	wanted, asked, stuck, has map[string]bool
}

func (s *scaling) add(p Pod) {
	if p.State == Ending {
		return
	}
	s.has[p.Place] = true
	if p.Stuck && p.State == Starting { // it takes nobody's room, and its place gets no other
		s.stuck[p.Place] = true
		s.free[p.Place] = append(s.free[p.Place], p)
		return
	}
	s.count++
	switch p.State {
	case Leaving:
		s.leaving++
		return
	case Working:
		s.busy[p.Place] = append(s.busy[p.Place], p)
	case Starting, Idle, Ending:
		s.free[p.Place] = append(s.free[p.Place], p)
		s.starting[p.Place]++
	}
	s.loads[p.Place] = append(s.loads[p.Place], p.Left)
}

// serve finds a Pod for a waiting run.
func (s *scaling) serve(w Waiting) {
	cost := w.Cost
	if cost == 0 {
		cost = unknownCost
	}
	patience := backlog
	if w.Awaited {
		patience = awaitedBacklog
	}
	loads := s.loads[w.Place]
	if len(loads) > 0 {
		if least := slices.Index(loads, slices.Min(loads)); loads[least] <= patience {
			if loads[least] > 0 {
				s.lookAt(s.Now.Add(soon))
			}
			loads[least] += cost
			return
		}
	}
	if s.Blocked[w.Place] || s.stuck[w.Place] || len(loads) > 0 && !s.mayGrow(w.Place) || len(loads) == 0 && !s.makeRoom(w.Place) {
		return
	}
	s.actions.Create = append(s.actions.Create, w.Place)
	s.count++
	s.starting[w.Place]++
	s.loads[w.Place] = append(loads, cost)
}

// mayGrow reports whether a place with Pods may have another one. It doubles them at most before it
// sees what that brings: where cores are few, more Pods only make all runs longer.
func (s *scaling) mayGrow(place string) bool {
	return s.count < s.Max && s.starting[place] < max(1, len(s.busy[place]))
}

// lookAt has the next decision at that time, if none is due before.
func (s *scaling) lookAt(t time.Time) {
	if s.actions.Next.IsZero() || t.Before(s.actions.Next) {
		s.actions.Next = t
	}
}

// makeRoom reports whether a Pod of the place may be created. It deletes an idle one for it if need
// be, or has one leave.
func (s *scaling) makeRoom(place string) bool {
	if s.count < s.Max {
		return true
	}
	var victim *Pod
	for other := range s.free {
		if s.wanted[other] {
			continue
		}
		for i := range s.free[other] {
			p := &s.free[other][i]
			if p.State == Idle && (victim == nil || older(*p, *victim) < 0) {
				victim = p
			}
		}
	}
	if victim == nil {
		s.askToLeave(place)
		return false
	}
	s.remove(*victim)
	return true
}

// askToLeave has a Pod make room for a place that has none.
func (s *scaling) askToLeave(place string) {
	if s.asked[place] {
		return
	}
	s.asked[place] = true
	if s.leaving > 0 { // that one's room is for this place
		s.leaving--
		return
	}
	var victim *Pod
	for _, pods := range s.busy {
		for i := range pods {
			p := &pods[i]
			if s.Now.Sub(p.Created) < turn {
				continue
			}
			if victim == nil || len(pods) > len(s.busy[victim.Place]) || len(pods) == len(s.busy[victim.Place]) && older(*p, *victim) < 0 {
				victim = p
			}
		}
	}
	if victim == nil {
		return
	}
	s.actions.Leave = append(s.actions.Leave, victim.Home)
	home := victim.Home
	s.busy[victim.Place] = slices.DeleteFunc(slices.Clone(s.busy[victim.Place]), func(p Pod) bool { return p.Home == home })
}

// remove deletes a free Pod.
func (s *scaling) remove(p Pod) {
	s.actions.Delete = append(s.actions.Delete, p.Home)
	if !p.Stuck || p.State != Starting {
		s.count--
	}
	s.free[p.Place] = slices.DeleteFunc(slices.Clone(s.free[p.Place]), func(o Pod) bool { return o.Home == p.Home })
}

// retire deletes Pods that nobody waits for and that have not started or have been idle long enough.
func (s *scaling) retire() {
	var idle, unwanted []Pod
	for place, pods := range s.free {
		if s.wanted[place] {
			continue
		}
		for _, p := range pods {
			if p.State == Idle {
				idle = append(idle, p)
			} else {
				unwanted = append(unwanted, p)
			}
		}
	}
	slices.SortFunc(unwanted, older)
	for _, p := range unwanted {
		s.remove(p)
	}
	slices.SortFunc(idle, older)
	for _, p := range idle {
		until := p.Since.Add(s.IdleFor)
		if s.Now.Before(until) {
			s.lookAt(until)
			return
		}
		s.remove(p)
	}
}

func older(a, b Pod) int {
	if c := a.Since.Compare(b.Since); c != 0 {
		return c
	}
	if a.Home < b.Home {
		return -1
	}
	return 1
}
