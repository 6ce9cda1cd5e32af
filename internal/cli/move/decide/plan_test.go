// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yuba-dev/yuba/internal/testkit/puretest"
)

func TestImports(t *testing.T) { puretest.Imports(t, "fmt", "slices") }

var (
	laptop = Home{ID: "a", Name: "laptop", Yuba: true}
	prod   = Home{ID: "b", Name: "prod", Yuba: true}
)

// stack is an active object that only the source has; secret a passive one.
func stack(change ...func(*Object)) Object { return object("Terraform", true, change) }

func secret(change ...func(*Object)) Object { return object("Secret", false, change) }

func object(kind string, active bool, change []func(*Object)) Object {
	o := Object{Kind: kind, Namespace: "team", Name: "vpc", Active: active, Served: true}
	for _, c := range change {
		c(&o)
	}
	return o
}

func exists(o *Object)       { o.Target.Exists = true }
func same(o *Object)         { o.Target.Exists, o.Target.Same = true, true }
func unchangeable(o *Object) { o.Target.Unchangeable = "it is immutable" }
func works(o *Object)        { o.Target.Exists, o.Target.Works = true, true }
func listed(o *Object)       { o.Target.Exists, o.Target.Listed = true, true }
func current(o *Object)      { o.Target.Exists, o.Target.Listed, o.Target.Current = true, true, true }
func unchanged(o *Object)    { o.Target.Exists, o.Target.Listed, o.Target.Unchanged = true, true, true }
func movedTo(h Home) func(*Object) {
	return func(o *Object) { o.MovedTo, o.MovedToName = h.ID, h.Name }
}

// Records of the target about the namespace.
var (
	none      = Record{}
	moving    = Record{Move: "m1", Role: RoleTarget, Home: "a", Name: "laptop", Phase: PhaseMoving}
	verified  = Record{Move: "m1", Role: RoleTarget, Home: "a", Name: "laptop", Phase: PhaseVerified}
	arrived   = Record{Move: "m1", Role: RoleTarget, Home: "a", Name: "laptop", Phase: PhaseDone}
	canceled  = Record{Move: "m1", Role: RoleTarget, Home: "a", Name: "laptop", Phase: PhaseCanceled}
	wasSource = Record{Move: "m1", Role: RoleSource, Home: "a", Name: "laptop", Phase: PhaseDone}
)

func TestDecideAboutObjects(t *testing.T) {
	for sentence, c := range map[string]struct {
		target Record
		object Object
		verb   Verb
		why    string
		step   Step
	}{
		"a new stack is created":                             {none, stack(), VerbCreate, "", StepBegin},
		"an equal Secret stays":                              {none, secret(same), VerbKeep, "", StepNothing},
		"another Secret of that name is a conflict":          {none, secret(exists), VerbConflict, "another object", StepBegin},
		"a stack that works at the target is a conflict":     {none, stack(works), VerbConflict, "its own object", StepBegin},
		"an equal one, too":                                  {none, stack(works, same), VerbConflict, "its own object", StepBegin},
		"an object that the target deletes is a conflict":    {none, secret(exists, func(o *Object) { o.Target.Deleting = true }), VerbConflict, "is deleting", StepBegin},
		"a kind that the target does not serve is skipped":   {none, stack(func(o *Object) { o.Served = false }), VerbSkip, "does not serve", StepNothing},
		"what never moves is skipped":                        {none, secret(func(o *Object) { o.Skip = "a token" }), VerbSkip, "a token", StepNothing},
		"a stack in deletion blocks":                         {none, stack(func(o *Object) { o.Deleting = true }), VerbBlocked, "is being deleted", StepBegin},
		"a Secret in deletion is skipped":                    {none, secret(func(o *Object) { o.Deleting = true }), VerbSkip, "is being deleted", StepNothing},
		"a locked stack blocks":                              {none, stack(func(o *Object) { o.Blocked = "locked" }), VerbBlocked, "locked", StepBegin},
		"a stack that is still arriving blocks":              {none, stack(func(o *Object) { o.Arriving = true }), VerbBlocked, "not arrived", StepBegin},
		"an interrupted move updates what it lists":          {moving, secret(current), VerbUpdate, "", StepContinue},
		"but not what is equal":                              {moving, secret(current, same), VerbKeep, "", StepContinue},
		"and the stacks that it has marked":                  {moving, stack(current, movedTo(prod)), VerbUpdate, "", StepContinue},
		"and creates what is missing, although it is marked": {moving, stack(movedTo(prod), func(o *Object) { o.Target.Listed, o.Target.Current = true, true }), VerbCreate, "", StepContinue},
		"but not what somebody has resumed there":            {moving, stack(current, works, movedTo(prod)), VerbConflict, "its own object", StepContinue},
		"nor what it does not list":                          {moving, secret(exists), VerbConflict, "another object", StepContinue},
		"nor what an earlier move brought":                   {moving, secret(listed), VerbArrived, "earlier", StepContinue},
		"nor a stack that an earlier move brought":           {moving, stack(listed, works, movedTo(prod)), VerbArrived, "earlier", StepContinue},
		"a verified move copies nothing":                     {verified, secret(current), VerbArrived, "", StepResume},
		"not even a stack":                                   {verified, stack(current, movedTo(prod)), VerbArrived, "", StepResume},
		"a canceled move can be made later":                  {canceled, stack(current), VerbUpdate, "", StepContinue},
		"but not over a stack that works at the target":      {canceled, stack(current, works), VerbConflict, "its own object", StepContinue},
		"a stack that was moved earlier is left alone":       {arrived, stack(works, movedTo(prod)), VerbArrived, "earlier", StepNothing},
		"so is a Secret, although the target has changed it": {arrived, secret(listed), VerbArrived, "earlier", StepNothing},
		"one that the target has deleted is not moved again": {arrived, secret(func(o *Object) { o.Target.Listed = true }), VerbSkip, "no longer exists", StepNothing},
		"a new stack follows":                                {arrived, stack(), VerbCreate, "", StepBegin},
		"a copy whose original is gone is not moved again":   {arrived, stack(movedTo(prod)), VerbSkip, "Delete the copy", StepNothing},
		"a copy of a stack at a third home is skipped":       {none, stack(movedTo(Home{ID: "c", Name: "third"})), VerbSkip, "to third", StepNothing},
		"on the way back, an unchanged copy is updated":      {wasSource, stack(unchanged), VerbUpdate, "came from", StepBegin},
		"a Secret, too":                                      {wasSource, secret(unchanged), VerbUpdate, "came from", StepBegin},
		"one that cannot be updated is a conflict":           {wasSource, secret(unchanged, unchangeable), VerbConflict, "immutable", StepBegin},
		"also for an interrupted move":                       {moving, secret(current, unchangeable), VerbConflict, "immutable", StepContinue},
		"unless it is equal":                                 {moving, secret(current, same, unchangeable), VerbKeep, "", StepContinue},
		"a changed copy is a conflict":                       {wasSource, secret(listed), VerbConflict, "has changed", StepBegin},
		"a copy that somebody resumed is a conflict":         {wasSource, stack(unchanged, works), VerbConflict, "its own", StepBegin},
	} {
		t.Run(sentence, func(t *testing.T) {
			plan := Decide(Facts{From: laptop, To: prod, Namespaces: []Namespace{{Name: "team", Exists: true, Target: c.target}}, Objects: []Object{c.object}})
			if len(plan.Items) != 1 || len(plan.Problems) > 0 {
				t.Fatalf("plan %+v", plan)
			}
			if got := plan.Items[0]; got.Verb != c.verb || !strings.Contains(got.Why, c.why) || plan.Step != c.step {
				t.Errorf("%s (%s), next step %s; want %s (%s), %s", got.Verb, got.Why, plan.Step, c.verb, c.why, c.step)
			}
		})
	}
}

func TestDecideAboutNamespaces(t *testing.T) {
	for sentence, c := range map[string]struct {
		namespace Namespace
		to        Home
		problem   string
	}{
		"the same home":                                 {Namespace{}, laptop, "the same home"},
		"a missing namespace":                           {Namespace{Missing: true}, prod, "does not exist at laptop"},
		"one in deletion":                               {Namespace{Deleting: true}, prod, "is being deleted"},
		"one that has not arrived at the source":        {Namespace{Source: Record{Role: RoleTarget, Home: "c", Name: "third", Phase: PhaseMoving}}, prod, "still arriving"},
		"one on its way to a third home":                {Namespace{Source: Record{Role: RoleSource, Home: "c", Name: "third", Phase: PhaseMoving}}, prod, "from laptop to third"},
		"one on its way in the other direction":         {Namespace{Target: Record{Role: RoleSource, Home: "a", Name: "laptop", Phase: PhaseMoving}}, prod, "--cancel"},
		"one that comes from a third home":              {Namespace{Target: Record{Role: RoleTarget, Home: "c", Name: "third", Phase: PhaseVerified}}, prod, "a third home"},
		"one on its way to the target":                  {Namespace{Target: moving, Source: Record{Role: RoleSource, Home: "b", Phase: PhaseMoving}}, prod, ""},
		"one whose move to the source was canceled":     {Namespace{Source: Record{Role: RoleTarget, Home: "c", Name: "third", Phase: PhaseCanceled}}, prod, ""},
		"one whose move from a third home was canceled": {Namespace{Target: Record{Role: RoleTarget, Home: "c", Name: "third", Phase: PhaseCanceled}}, prod, ""},
		"one that was at the target before":             {Namespace{Target: wasSource, Source: Record{Role: RoleTarget, Home: "b", Phase: PhaseDone}}, prod, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			c.namespace.Name = "team"
			plan := Decide(Facts{From: laptop, To: c.to, Namespaces: []Namespace{c.namespace}})
			got := strings.Join(plan.Problems, "; ")
			if (got == "") != (c.problem == "") || !strings.Contains(got, c.problem) {
				t.Errorf("problems %q, want %q", got, c.problem)
			}
			if plan.Refused() != (got != "") {
				t.Errorf("refused: %v", plan.Refused())
			}
		})
	}
}

func TestAMoveThatEndedBetweenNamespacesContinues(t *testing.T) {
	plan := Decide(Facts{From: laptop, To: prod, Namespaces: []Namespace{{Name: "one", Exists: true, Target: verified}, {Name: "two", Exists: true, Target: moving}}})
	want := Plan{Step: StepContinue, Move: "m1", Items: []Item{},
		Namespaces: []NamespacePlan{{Name: "one", Step: StepResume}, {Name: "two", Step: StepContinue}}}
	if diff := cmp.Diff(want, plan); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

// TestLaws checks the laws of doc.go on random facts.
func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		flip := func(label string) bool { return rapid.Bool().Draw(t, label) }
		record := rapid.SampledFrom([]Record{none, moving, verified, canceled, arrived, wasSource}).Draw(t, "record")
		o := object("Kind", flip("active"), nil)
		o.Served, o.Deleting, o.Arriving = true, flip("deleting"), flip("arriving")
		o.MovedTo = rapid.SampledFrom([]string{"", "", "b", "c"}).Draw(t, "moved to")
		o.Target = Counterpart{Exists: flip("exists"), Listed: flip("listed"), Same: flip("same"), Unchanged: flip("unchanged"), Works: flip("works"), Deleting: flip("target deleting")}
		o.Target.Current = o.Target.Listed && flip("current")
		plan := Decide(Facts{From: laptop, To: prod, Namespaces: []Namespace{{Name: "team", Exists: true, Target: record}}, Objects: []Object{o}})
		verb := plan.Items[0].Verb
		copies := verb == VerbCreate || verb == VerbUpdate
		switch {
		case record.Phase == PhaseVerified && copies:
			t.Fatal("copies what the target may work on")
		case verb == VerbCreate && o.Target.Exists, verb == VerbUpdate && !o.Target.Exists:
			t.Fatalf("%s, although exists is %v", verb, o.Target.Exists)
		case verb == VerbUpdate && o.Active && o.Target.Works:
			t.Fatal("overwrites an object that the target works on")
		case verb == VerbUpdate && !(o.Target.Current && (record.Phase == PhaseMoving || record.Phase == PhaseCanceled) || o.Target.Listed && o.Target.Unchanged):
			t.Fatal("overwrites an object of somebody else")
		case copies && o.MovedTo == "b" && !o.Target.Current:
			t.Fatal("copies a copy")
		}
	})
}

func TestNotCancelable(t *testing.T) {
	ofMove := func(move string) Record { return Record{Move: move, Role: RoleSource, Home: "b", Phase: PhaseMoving} }
	for sentence, c := range map[string]struct {
		here, there Record
		why         string
	}{
		"a move in progress can be canceled":               {ofMove("m1"), moving, ""},
		"one that has suspended nothing, too":              {none, moving, ""},
		"a verified one cannot":                            {ofMove("m1"), verified, "too late"},
		"nor a complete one":                               {ofMove("m1"), arrived, "none is in progress"},
		"nor one of another home":                          {none, Record{Move: "m1", Role: RoleTarget, Home: "c", Phase: PhaseMoving}, "none is in progress"},
		"nor none":                                         {none, none, "none is in progress"},
		"an interrupted cancellation continues":            {ofMove("m1"), canceled, ""},
		"a complete one does not, as the source forgot it": {none, canceled, "none is in progress"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := NotCancelable(laptop, prod, c.here, c.there); (got == "") != (c.why == "") || !strings.Contains(got, c.why) {
				t.Errorf("%q, want %q", got, c.why)
			}
		})
	}
}

func TestOpenCircuitBreakersPreventAMove(t *testing.T) {
	for sentence, c := range map[string]struct {
		breaker Breaker
		target  Record
		object  Object
		refused bool
	}{
		"one for all namespaces":                        {Breaker{}, none, stack(), true},
		"one for this namespace":                        {Breaker{Namespaces: []string{"other", "team"}}, none, stack(), true},
		"one for another namespace does not":            {Breaker{Namespaces: []string{"other"}}, none, stack(), false},
		"one that is open at the target, too, does not": {Breaker{AtTarget: true}, none, stack(), false},
		"an interrupted move waits, too":                {Breaker{}, moving, stack(current, movedTo(prod)), true},
		"a verified move goes on":                       {Breaker{}, verified, stack(current), false},
		"nothing to move, nothing to refuse":            {Breaker{}, arrived, stack(works, movedTo(prod)), false},
	} {
		t.Run(sentence, func(t *testing.T) {
			c.breaker.Name = "aws-upgrade"
			plan := Decide(Facts{From: laptop, To: prod, Namespaces: []Namespace{{Name: "team", Exists: true, Target: c.target}}, Objects: []Object{c.object}, Breakers: []Breaker{c.breaker}})
			if plan.Refused() != c.refused || c.refused && !strings.Contains(plan.Problems[0], "yuba resume circuitbreaker aws-upgrade") {
				t.Errorf("problems: %q", plan.Problems)
			}
		})
	}
}

func TestANamespaceWithTooManyObjectsIsRefusedBeforeAnythingIsSuspended(t *testing.T) {
	for sentence, c := range map[string]struct {
		target  Record
		object  Object
		refused bool
	}{
		"a new move is refused":           {none, stack(), true},
		"a verified one ends":             {verified, stack(current), false},
		"nothing to move, nothing to say": {arrived, stack(works, movedTo(prod)), false},
	} {
		t.Run(sentence, func(t *testing.T) {
			plan := Decide(Facts{From: laptop, To: prod, Namespaces: []Namespace{{Name: "team", Exists: true, TooMany: 9000, Target: c.target}}, Objects: []Object{c.object}})
			if plan.Refused() != c.refused || c.refused && !strings.Contains(plan.Problems[0], "too many objects for one move (9000)") {
				t.Errorf("problems: %q", plan.Problems)
			}
		})
	}
}
