// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package unproven

import (
	"fmt"
	"maps"
	"testing"

	"pgregory.net/rapid"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// apply is an apply that is carried out in a world, and may be cut off at any moment.
type apply struct {
	// world, state and stored are objects by address: what exists, what tofu believes, what is
	// stored.
	world, state, stored, began map[string]string
	fates                       []run.Fate
	steps                       []run.TraceStep
	made                        int
}

func draw(t *rapid.T) *apply {
	a := &apply{world: map[string]string{}, state: map[string]string{}}
	for i := range rapid.IntRange(1, 6).Draw(t, "objects") {
		address := fmt.Sprintf("a.b[%d]", i)
		action := rapid.SampledFrom([]string{run.ActionCreate, run.ActionReplace, run.ActionDelete, "none"}).Draw(t, "action")
		if action != run.ActionCreate {
			a.exist(address, "before"+address)
		}
		if action != "none" {
			a.fates = append(a.fates, run.Fate{Address: address, Action: action})
		}
	}
	a.began = maps.Clone(a.state)
	a.stored = maps.Clone(a.state)
	return a
}

func (a *apply) exist(address, id string) { a.world[address], a.state[address] = id, id }

// step does one thing to one object. Words are told before and after, the state knows it last.
func (a *apply) step(t *rapid.T, address, action string, cut bool) bool {
	a.steps = append(a.steps, run.TraceStep{Address: address, Action: action})
	told := &a.steps[len(a.steps)-1]
	if cut && rapid.Bool().Draw(t, "cut before it was done") {
		return false
	}
	if rapid.IntRange(0, 4).Draw(t, "fails") == 0 {
		told.Ended = run.TraceFailed
		return false
	}
	if action == run.ActionCreate {
		a.made++
		id := fmt.Sprintf("new%d", a.made)
		if rapid.Bool().Draw(t, "same name") {
			id = "before" + address
		}
		a.world[address] = id
	} else {
		delete(a.world, address)
	}
	if cut && rapid.Bool().Draw(t, "cut before it was told") {
		return false
	}
	told.Ended, told.ID = run.TraceDone, a.world[address]
	if id, exists := a.world[address]; exists {
		a.state[address] = id
	} else {
		delete(a.state, address)
	}
	return true
}

// run carries the plan out; it is cut off in the middle or comes to its end.
func (a *apply) run(t *rapid.T, cut bool) {
	last := len(a.fates)
	if cut {
		last = rapid.IntRange(0, len(a.fates)).Draw(t, "last")
	}
	for i, f := range a.fates[:last] {
		ends := cut && i == last-1
		if f.Action != run.ActionCreate && !a.step(t, f.Address, run.ActionDelete, ends) {
			continue
		}
		if f.Action != run.ActionDelete {
			a.step(t, f.Address, run.ActionCreate, ends)
		}
		if rapid.Bool().Draw(t, "store") {
			a.stored = maps.Clone(a.state)
		}
	}
	if !cut {
		a.stored = maps.Clone(a.state)
	}
}

func objects(m map[string]string) *State {
	var list []Object
	for address, id := range m {
		list = append(list, Object{Address: address, ID: id})
	}
	return NewState(list)
}

// lossy leaves out some of the log's lines.
func lossy(t *rapid.T, steps []run.TraceStep) []run.TraceStep {
	var left []run.TraceStep
	for _, s := range steps {
		if rapid.Bool().Draw(t, "read") {
			left = append(left, s)
		}
	}
	return left
}

func listed(l List) map[string]run.Unproven {
	by := map[string]run.Unproven{}
	for _, u := range l.Objects {
		by[u.Address] = u
	}
	return by
}

// Whatever is lost of the evidence: an object that exists and is in no state is listed, and so is
// one that is gone and still in the state.
func TestNothingIsForgotten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := draw(t)
		a.run(t, true)
		e := Evidence{Planned: a.fates}
		switch rapid.IntRange(0, 2).Draw(t, "log") {
		case 0:
			e.Trace = &run.Trace{Whole: true, Steps: a.steps}
		case 1:
			e.Trace = &run.Trace{Steps: lossy(t, a.steps)}
		}
		stored := a.stored
		if rapid.IntRange(0, 3).Draw(t, "state unreadable") == 0 {
			stored = map[string]string{}
		} else {
			e.Now = objects(stored)
		}
		if rapid.Bool().Draw(t, "former state known") {
			e.Before = objects(a.began)
		}
		by := listed(Find(e))
		for address, id := range a.world {
			untouched := a.began[address] == id && a.began[address] != ""
			if stored[address] != id && !untouched && !by[address].MayExist {
				t.Errorf("%s (%s) exists, the state says %q, and it is not listed", address, id, stored[address])
			}
		}
		for address, id := range stored {
			if a.world[address] == "" && !by[address].MayBeGone {
				t.Errorf("%s (%s) is gone, the state has it, and it is not listed", address, id)
			}
		}
	})
}

// With a whole log nothing is listed that was not begun.
func TestNothingIsListedThatWasNotBegun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := draw(t)
		a.run(t, true)
		begun := map[string]bool{}
		for _, s := range a.steps {
			begun[s.Address] = true
		}
		e := Evidence{Planned: a.fates, Trace: &run.Trace{Whole: true, Steps: a.steps}, Before: objects(a.began), Now: objects(a.stored)}
		for address := range listed(Find(e)) {
			if !begun[address] {
				t.Errorf("%s was never begun", address)
			}
		}
	})
}

// A tool that came to its end, whatever failed, leaves nothing to be listed.
func TestAnOrderlyEndLeavesNoDoubt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := draw(t)
		a.run(t, false)
		e := Evidence{Planned: a.fates, Trace: &run.Trace{Whole: true, Orderly: true, Steps: a.steps}, Before: objects(a.began), Now: objects(a.stored)}
		if l := Find(e); len(l.Objects)+l.More > 0 || l.Note != "" {
			t.Errorf("listed: %+v", l)
		}
	})
}

// A tool that came to its end, and whose state cannot be read: all that its log says was done is
// listed, and nothing else.
func TestAnOrderlyEndWithoutAStateListsWhatWasDone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := draw(t)
		a.run(t, false)
		e := Evidence{Planned: a.fates, Trace: &run.Trace{Whole: true, Orderly: true, Steps: a.steps}}
		if rapid.Bool().Draw(t, "former state known") {
			e.Before = objects(a.began)
		}
		by := listed(Find(e))
		done := map[string]bool{}
		for _, s := range a.steps {
			if s.Ended != run.TraceDone {
				continue
			}
			done[s.Address] = true
			if s.Action == run.ActionCreate && !by[s.Address].MayExist || s.Action == run.ActionDelete && !by[s.Address].MayBeGone {
				t.Errorf("%s of %s was done and is not listed", s.Action, s.Address)
			}
		}
		for address := range by {
			if !done[address] {
				t.Errorf("%s is listed, and nothing was done to it", address)
			}
		}
		e.Sealed = true
		if l := Find(e); len(l.Objects) > 0 {
			t.Errorf("listed of a state that only the tool can read: %+v", l)
		}
	})
}

// The state that an apply which was cut off has left never proves what is listed of that apply.
func TestTheSameStateProvesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := draw(t)
		a.run(t, true)
		now := objects(a.stored)
		e := Evidence{Planned: a.fates, Now: now, Lost: rapid.Bool().Draw(t, "plan lost")}
		if e.Lost {
			e.Planned = nil
		}
		if rapid.Bool().Draw(t, "log") {
			e.Trace = &run.Trace{Whole: rapid.Bool().Draw(t, "whole"), Steps: a.steps}
		}
		if rapid.Bool().Draw(t, "former state known") {
			e.Before = objects(a.began)
		}
		for _, u := range Find(e).Objects {
			if u.MayExist && now.Proves(Match(u.Address, u.Match), u.Replaces, u.ReplacedID) {
				t.Errorf("proven: %+v", u)
			}
		}
	})
}
