// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package unproven

import (
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// Evidence is what an interrupted apply left.
type Evidence struct {
	// Planned are the objects that the plan names; nil if it is lost. More counts others.
	Planned []run.Fate
	More    int
	// Lost is true for a lost plan. Declared are then the program's resources, nil if lost, too.
	Lost     bool
	Declared []string
	// Trace is what the log says; nil if it is lost.
	Trace *run.Trace
	// Before and Now are the state when the apply began and the last stored one; nil if unreadable.
	Before, Now *State
	// Sealed is true if only the tool can read the state: it is encrypted, or in a custom backend.
	Sealed bool
}

// Match identifies an address, masked or not.
func Match(address, match string) string {
	if match != "" {
		return match
	}
	return plan.Match(address)
}

// List is what is unproven after an apply.
type List struct {
	Objects []run.Unproven
	// More counts further ones.
	More int
	// Note is a caveat about the list; else empty.
	Note string
}

// maxListed is the maximum number of objects in a list.
const maxListed = 10_000

// Find lists what is unproven.
func Find(e Evidence) List {
	w := weighing{Evidence: e, steps: map[string]run.TraceStep{}}
	if e.Trace != nil {
		for _, s := range e.Trace.Steps {
			w.steps[s.Action+" "+Match(s.Address, s.Match)] = s
		}
	}
	var l List
	if w.settled() && e.Sealed && e.Now == nil {
		return l // the tool has written its state where only it can read it
	}
	for _, f := range e.Planned {
		if u, doubtful := w.weigh(f); doubtful {
			l.add(u)
		}
	}
	if !w.settled() {
		l.More += e.More
	}
	w.unplanned(&l)
	if e.Lost && !w.settled() {
		w.declared(&l)
	}
	for i := range l.Objects {
		l.Objects[i].StateUnread = e.Now == nil
	}
	return l
}

func (l *List) add(u run.Unproven) {
	if len(l.Objects) >= maxListed {
		l.More++
		return
	}
	l.Objects = append(l.Objects, u)
}

// weighing weighs the evidence about each object.
type weighing struct {
	Evidence
	// steps are the log's, by action and address.
	steps map[string]run.TraceStep
}

// settled: the tool exited in good order and the log is whole, so it did only what the log says.
func (w *weighing) settled() bool { return w.Trace != nil && w.Trace.Whole && w.Trace.Orderly }

// whole: steps that the log does not mention did not begin.
func (w *weighing) whole() bool { return w.Trace != nil && w.Trace.Whole }

// weigh says what may have happened to an object, and whether there is any doubt.
func (w *weighing) weigh(f run.Fate) (run.Unproven, bool) {
	match := Match(f.Address, f.Match)
	u := run.Unproven{Address: f.Address, Match: f.Match, Action: f.Action, Identity: f.Identity}
	exists, certainlyMade := false, false
	if f.Action != run.ActionDelete {
		exists, certainlyMade = w.mayExist(f, match, &u)
	}
	gone, certainlyGone := false, false
	if f.Action != run.ActionCreate {
		gone, certainlyGone = w.mayBeGone(f, match, &u)
	}
	u.MayExist, u.MayBeGone = exists, gone
	if exists {
		u.Replaces, u.ReplacedID = w.replaced(f, match)
	}
	u.Certain = certainlyMade && (certainlyGone || !gone) || certainlyGone && !exists
	return u, exists || gone
}

// mayExist reports whether an object may exist that the state does not have.
func (w *weighing) mayExist(f run.Fate, match string, u *run.Unproven) (doubtful, certain bool) {
	if w.proves(f, match) {
		return false, false
	}
	step, begun := w.steps[run.ActionCreate+" "+match]
	switch {
	case !begun && w.whole():
		return false, false
	// The provider said that it made nothing; partial results would be in the state by now.
	case begun && step.Ended == run.TraceFailed && w.settled():
		return false, false
	}
	if step.ID != "" {
		u.ID = step.ID
	}
	return true, step.Ended == run.TraceDone
}

// proves reports whether the state has the new object, other than a replaced one.
func (w *weighing) proves(f run.Fate, match string) bool {
	if w.Now == nil {
		return false
	}
	now, there := w.Now.objects[match]
	if !there || w.settled() || f.Action == run.ActionCreate {
		return there
	}
	before, was := w.Before.get(match)
	return was && now.other(before)
}

// replaced reports whether the state may have an earlier object at the address, and its id.
func (w *weighing) replaced(f run.Fate, match string) (replaces bool, id string) {
	now, there := w.Now.get(match)
	if f.Action != run.ActionReplace || w.Now != nil && !there {
		return false, ""
	}
	if !there {
		now, _ = w.Before.get(match)
	}
	return true, now.ID
}

// mayBeGone reports whether an object may be destroyed that the state still has.
func (w *weighing) mayBeGone(f run.Fate, match string, u *run.Unproven) (doubtful, certain bool) {
	step, begun := w.steps[run.ActionDelete+" "+match]
	now, there := w.Now.get(match)
	before, was := w.Before.get(match)
	switch {
	case w.Now != nil && !there:
		return false, false
	case there && was && now.other(before):
		return false, false // the one before was taken out of the state, or is marked there as left over
	case !begun && w.whole():
		return false, false
	case w.settled() && (f.Action == run.ActionReplace && w.Now != nil || step.Ended != run.TraceDone):
		return false, false
	}
	known := Object{ID: step.ID}
	if there {
		known = now
	} else if was {
		known = before
	}
	if u.ID == "" {
		u.ID = known.ID
	}
	if u.Identity == "" {
		u.Identity = known.Identity
	}
	return true, step.Ended == run.TraceDone
}

// unplanned lists steps of the log that the plan does not name, because it is lost or too long.
func (w *weighing) unplanned(l *List) {
	if w.Trace == nil || !w.Lost && w.More == 0 {
		return
	}
	known := map[string]bool{}
	for _, f := range w.Planned {
		known[Match(f.Address, f.Match)] = true
	}
	for _, s := range w.Trace.Steps {
		match := Match(s.Address, s.Match)
		if known[match] {
			continue
		}
		known[match] = true
		if u, doubtful := w.weigh(run.Fate{Address: s.Address, Match: s.Match, Action: w.done(match)}); doubtful {
			l.add(u)
		}
	}
}

// done is the action according to the log.
func (w *weighing) done(match string) string {
	_, made := w.steps[run.ActionCreate+" "+match]
	_, destroyed := w.steps[run.ActionDelete+" "+match]
	switch {
	case made && (destroyed || w.Before.Has(match) || w.Before == nil && w.Now.Has(match)):
		return run.ActionReplace
	case destroyed:
		return run.ActionDelete
	}
	return run.ActionCreate
}

// declared lists the program's resources if the plan is lost.
func (w *weighing) declared(l *List) {
	if w.whole() {
		return // all that was begun is in the log
	}
	for _, address := range w.Declared {
		l.add(run.Unproven{Address: address, MayExist: true, Many: true, Replaces: true})
	}
	l.Note = "The plan of the apply is lost. These are the resources that the program declares: any number of each may exist, or have been destroyed"
	if w.Declared == nil {
		l.Note = "The plan of the apply and its program are lost: compare the state with the real infrastructure"
	}
}

// Sentence says how many objects are unproven.
func (l List) Sentence() string {
	return run.UnprovenSentence(len(l.Objects) + l.More)
}
