// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package unproven

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

func planned(fates ...run.Fate) func(*Evidence) { return func(e *Evidence) { e.Planned = fates } }

func create(address string) run.Fate  { return run.Fate{Address: address, Action: run.ActionCreate} }
func replace(address string) run.Fate { return run.Fate{Address: address, Action: run.ActionReplace} }
func destroy(address string) run.Fate { return run.Fate{Address: address, Action: run.ActionDelete} }

func stateOf(objects ...Object) *State { return NewState(objects) }

func before(objects ...Object) func(*Evidence) {
	return func(e *Evidence) { e.Before = stateOf(objects...) }
}
func now(objects ...Object) func(*Evidence) { return func(e *Evidence) { e.Now = stateOf(objects...) } }

// log is what was read of a log that may lack lines.
func log(steps ...run.TraceStep) func(*Evidence) {
	return func(e *Evidence) { e.Trace = &run.Trace{Steps: steps} }
}

// whole is a whole log of a tool that was killed, orderly one of a tool that came to its end.
func whole(steps ...run.TraceStep) func(*Evidence) {
	return func(e *Evidence) { e.Trace = &run.Trace{Whole: true, Steps: steps} }
}

func orderly(steps ...run.TraceStep) func(*Evidence) {
	return func(e *Evidence) { e.Trace = &run.Trace{Whole: true, Orderly: true, Steps: steps} }
}

func creating(address string) run.TraceStep {
	return run.TraceStep{Address: address, Action: run.ActionCreate}
}

func destroying(address string) run.TraceStep {
	return run.TraceStep{Address: address, Action: run.ActionDelete}
}

func done(s run.TraceStep, id string) run.TraceStep {
	s.Ended, s.ID = run.TraceDone, id
	return s
}

func failed(s run.TraceStep) run.TraceStep {
	s.Ended = run.TraceFailed
	return s
}

func sealed(e *Evidence) { e.Sealed = true }

func evidence(parts ...func(*Evidence)) Evidence {
	var e Evidence
	for _, part := range parts {
		part(&e)
	}
	return e
}

func list(objects ...run.Unproven) List { return List{Objects: objects} }

func TestFind(t *testing.T) {
	lostPlan := func(e *Evidence) { e.Lost = true }
	declaring := func(addresses ...string) func(*Evidence) {
		return func(e *Evidence) { e.Lost, e.Declared = true, addresses }
	}
	for sentence, test := range map[string]struct {
		evidence Evidence
		want     List
	}{
		"the log is lost: what was to be created may exist": {evidence(planned(create("a.b")), now()),
			list(run.Unproven{Address: "a.b", Action: "create", MayExist: true})},
		"the state has it": {evidence(planned(create("a.b")), before(), now(Object{Address: "a.b"})), List{}},
		"neither log nor state: all of it": {evidence(planned(create("a.b"), destroy("a.c"))),
			list(run.Unproven{Address: "a.b", Action: "create", MayExist: true}, run.Unproven{Address: "a.c", Action: "delete", MayBeGone: true})},
		"the whole log says that it was not begun": {evidence(planned(create("a.b"), replace("a.c"), destroy("a.d")), whole(), now(Object{Address: "a.c"}, Object{Address: "a.d"})), List{}},
		"the whole log says that it was begun": {evidence(planned(create("a.b"), create("a.c")), whole(creating("a.c")), now()),
			list(run.Unproven{Address: "a.c", Action: "create", MayExist: true})},
		"a log that may lack lines proves nothing by silence": {evidence(planned(create("a.b"), create("a.c")), log(done(creating("a.c"), "i-1")), now()),
			list(run.Unproven{Address: "a.b", Action: "create", MayExist: true}, run.Unproven{Address: "a.c", Action: "create", MayExist: true, Certain: true, ID: "i-1"})},
		"it was created, says the log, and the state lacks it": {evidence(planned(create("a.b")), whole(done(creating("a.b"), "i-1")), now()),
			list(run.Unproven{Address: "a.b", Action: "create", MayExist: true, Certain: true, ID: "i-1"})},
		"it failed, and the tool was killed before it wrote a state: part of it may exist": {evidence(planned(create("a.b")), whole(failed(creating("a.b"))), now()),
			list(run.Unproven{Address: "a.b", Action: "create", MayExist: true})},
		"it failed, as things fail": {evidence(planned(create("a.b")), orderly(failed(creating("a.b"))), now()), List{}},
		"the tool ended in good order, and could not write what it made": {evidence(planned(create("a.b"), create("a.c")), orderly(done(creating("a.b"), "i-1")), now()),
			list(run.Unproven{Address: "a.b", Action: "create", MayExist: true, Certain: true, ID: "i-1"})},
		"the tool ended in good order, and only it can read its state": {evidence(planned(create("a.b")), sealed, orderly(done(creating("a.b"), "i-1"))), List{}},
		"the tool ended in good order, and the state cannot be read": {evidence(planned(create("a.b"), create("a.c"), create("a.d"), destroy("a.e"), replace("a.f")),
			orderly(done(creating("a.b"), "i-1"), failed(creating("a.c")), done(destroying("a.e"), ""), done(destroying("a.f"), ""), failed(creating("a.f")))),
			list(run.Unproven{Address: "a.b", Action: "create", MayExist: true, Certain: true, ID: "i-1"}, run.Unproven{Address: "a.e", Action: "delete", MayBeGone: true, Certain: true},
				run.Unproven{Address: "a.f", Action: "replace", MayBeGone: true, Certain: true})},
		"the tool was killed, and only it can read its state": {evidence(planned(create("a.b")), sealed, whole(creating("a.b"))),
			list(run.Unproven{Address: "a.b", Action: "create", MayExist: true})},
		"the state has what was to be destroyed": {evidence(planned(destroy("a.b")), before(Object{Address: "a.b", ID: "i-1"}), now(Object{Address: "a.b", ID: "i-1", Identity: `name "n"`})),
			list(run.Unproven{Address: "a.b", Action: "delete", MayBeGone: true, ID: "i-1", Identity: `name "n"`})},
		"the state lacks what was to be destroyed": {evidence(planned(destroy("a.b")), before(Object{Address: "a.b"}), now()), List{}},
		"it was destroyed, says the log, and the state has it": {evidence(planned(destroy("a.b")), log(done(destroying("a.b"), "i-1")), now(Object{Address: "a.b", ID: "i-1"})),
			list(run.Unproven{Address: "a.b", Action: "delete", MayBeGone: true, Certain: true, ID: "i-1"})},
		"to be replaced, and the state has the one before": {evidence(planned(replace("a.b")), before(Object{Address: "a.b", ID: "1"}), now(Object{Address: "a.b", ID: "1"})),
			list(run.Unproven{Address: "a.b", Action: "replace", MayExist: true, MayBeGone: true, ID: "1", Replaces: true, ReplacedID: "1"})},
		"replaced: the state has another one": {evidence(planned(replace("a.b")), before(Object{Address: "a.b", ID: "1"}), now(Object{Address: "a.b", ID: "2"})), List{}},
		"replaced by one of the same name: nobody knows": {evidence(planned(replace("a.b")), before(Object{Address: "a.b", ID: "n"}), now(Object{Address: "a.b", ID: "n"})),
			list(run.Unproven{Address: "a.b", Action: "replace", MayExist: true, MayBeGone: true, ID: "n", Replaces: true, ReplacedID: "n"})},
		"made before the old one was destroyed, and the state has the old one": {evidence(planned(replace("a.b")), whole(done(creating("a.b"), "2")), before(Object{Address: "a.b", ID: "1"}), now(Object{Address: "a.b", ID: "1"})),
			list(run.Unproven{Address: "a.b", Action: "replace", MayExist: true, Certain: true, ID: "2", Replaces: true, ReplacedID: "1"})},
		"to be replaced, and no state can be read": {evidence(planned(replace("a.b"))),
			list(run.Unproven{Address: "a.b", Action: "replace", MayExist: true, MayBeGone: true, Replaces: true})},
		"destroyed to be replaced, and no more was written": {evidence(planned(replace("a.b")), before(Object{Address: "a.b", ID: "1"}), now()),
			list(run.Unproven{Address: "a.b", Action: "replace", MayExist: true})},
		"replaced in good order": {evidence(planned(replace("a.b")), orderly(done(destroying("a.b"), "n"), done(creating("a.b"), "n")),
			before(Object{Address: "a.b", ID: "n"}), now(Object{Address: "a.b", ID: "n"})), List{}},
		"a masked address is known by its digest": {evidence(planned(run.Fate{Address: `a.b["(sensitive)"]`, Match: plan.Match(`a.b["x"]`), Action: "create"},
			run.Fate{Address: `a.b["(sensitive)"]`, Match: plan.Match(`a.b["y"]`), Action: "create"}), now(Object{Address: `a.b["x"]`})),
			list(run.Unproven{Address: `a.b["(sensitive)"]`, Match: plan.Match(`a.b["y"]`), Action: "create", MayExist: true})},
		"plan and log are lost: what the program declares": {evidence(declaring("a.b"), now()),
			List{Objects: []run.Unproven{{Address: "a.b", MayExist: true, Many: true, Replaces: true}}, Note: "The plan of the apply is lost. These are the resources that the program declares: any number of each may exist, or have been destroyed"}},
		"all is lost": {evidence(lostPlan), List{Note: "The plan of the apply and its program are lost: compare the state with the real infrastructure"}},
		"the plan is lost, the log is not": {evidence(declaring("a.b"), whole(creating("a.b[0]"), done(destroying("a.c"), "")), now(Object{Address: "a.c"})),
			list(run.Unproven{Address: "a.b[0]", Action: "create", MayExist: true}, run.Unproven{Address: "a.c", Action: "delete", MayBeGone: true, Certain: true})},
		"the plan is lost: what was made where the state had an object replaces that": {evidence(lostPlan, whole(done(creating("a.b"), "2")), before(Object{Address: "a.b", ID: "1"}), now(Object{Address: "a.b", ID: "1"})),
			list(run.Unproven{Address: "a.b", Action: "replace", MayExist: true, Certain: true, ID: "2", Replaces: true, ReplacedID: "1"})},
		"the plan is too large to be named": {evidence(planned(create("a.b")), func(e *Evidence) { e.More = 7 }, log(creating("a.z")), now(Object{Address: "a.b"})),
			List{Objects: []run.Unproven{{Address: "a.z", Action: "create", MayExist: true}}, More: 7}},
		"nothing was to be made or destroyed": {evidence(now()), List{}},
	} {
		t.Run(sentence, func(t *testing.T) {
			for i := range test.want.Objects { // what is said of a state that nobody has read would be a guess
				test.want.Objects[i].StateUnread = test.evidence.Now == nil
			}
			if diff := cmp.Diff(test.want, Find(test.evidence)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatAStateProves(t *testing.T) {
	state := NewState([]Object{{Address: "a.b", ID: "1"}, {Address: "a.nameless"}})
	for sentence, test := range map[string]struct {
		state      *State
		address    string
		replaces   bool
		replacedID string
		want       bool
	}{
		"what it has":                                 {state, "a.b", false, "", true},
		"nothing that it lacks":                       {state, "a.c", false, "", false},
		"not the object before":                       {state, "a.b", true, "1", false},
		"another one than before":                     {state, "a.b", true, "0", true},
		"nothing when the one before is not known":    {state, "a.b", true, "", false},
		"nothing by an object without an id":          {state, "a.nameless", true, "0", false},
		"no replacement when only addresses are told": {Listed([]string{plan.Match("a.b")}), "a.b", true, "0", false},
		"nothing when it cannot be read":              {nil, "a.b", false, "", false},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := test.state.Proves(plan.Match(test.address), test.replaces, test.replacedID); got != test.want {
				t.Error(got)
			}
		})
	}
}

func TestListsAreBounded(t *testing.T) {
	fates := make([]run.Fate, maxListed+3)
	for i := range fates {
		fates[i] = create("a.b[" + string(rune('0'+i%10)) + "]")
	}
	if l := Find(evidence(planned(fates...), now())); len(l.Objects) != maxListed || l.More != 3 {
		t.Errorf("%d named, %d more", len(l.Objects), l.More)
	}
}
