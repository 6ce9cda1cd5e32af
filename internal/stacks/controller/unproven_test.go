// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/unproven"
	"github.com/yuba-dev/yuba/internal/tofu/inputs"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// cutOff is a run whose record lists possible leftovers.
func cutOff(id string, objects ...run.Unproven) run.Record {
	return run.Record{Spec: run.Spec{ID: id}, Result: &run.Result{Outcome: run.OutcomeInterrupted, ApplyStarted: true, Unproven: objects}}
}

func mayExist(address string) run.Unproven {
	return run.Unproven{Address: address, Action: run.ActionCreate, MayExist: true}
}

func mayBeGone(address string) run.Unproven {
	return run.Unproven{Address: address, Action: run.ActionDelete, MayBeGone: true}
}

// standing describes a status's list.
func standing(obj *infrav1.Terraform) []string {
	u := obj.Status.Unproven
	if u == nil {
		return nil
	}
	var lines []string
	for _, one := range u.Resources {
		lines = append(lines, fmt.Sprintf("%s of %s: %s", one.Address, one.Run, one.Doubt))
	}
	for _, r := range u.Runs {
		if r.More > 0 || r.Note != "" {
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%d more of %s %s", r.More, r.ID, r.Note)))
		}
	}
	return lines
}

// listing is a stack whose status lists these runs.
func listing(runs ...run.Record) *infrav1.Terraform {
	obj := stackObject()
	for _, r := range runs {
		recordUnproven(obj, r)
	}
	return obj
}

func TestUnprovenResourcesInTheStatus(t *testing.T) {
	many := make([]run.Unproven, infrav1.MaxUnproven+7)
	for i := range many {
		many[i] = mayExist(fmt.Sprintf("a.b[%d]", i))
	}
	first := cutOff("r1", run.Unproven{Address: "aws_vpc.v", ID: "i-1", Identity: `name "n"`, MayExist: true, Certain: true})
	obj := listing(first, first, cutOff("r2", many...))
	u := obj.Status.Unproven
	want := infrav1.UnprovenResource{Address: "aws_vpc.v", Type: "aws_vpc", Object: `i-1, name "n"`, Run: "r1", MayExist: true, Certain: true, Doubt: "was created, and no state has it"}
	if diff := cmp.Diff(want, u.Resources[0]); diff != "" || len(u.Resources) != infrav1.MaxUnproven {
		t.Errorf("%d named (-want +got):\n%s", len(u.Resources), diff)
	}
	state := workedOn(cutOff("r1"))
	if diff := cmp.Diff([]infrav1.UnprovenRun{{ID: "r1", Named: 1, State: state}, {ID: "r2", Named: 99, More: 8, State: state}}, u.Runs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	message := unprovenMessage(obj)
	if want := "108 resources may exist, or be gone, without any state proving it: aws_vpc.v, a.b[0], a.b[1], a.b[2], a.b[3], and 103 more. " +
		"See `yuba status " + obj.Name + " -n " + obj.Namespace + "`; after checking: `yuba acknowledge " + obj.Name + " -n " + obj.Namespace + " --run r2`"; message != want {
		t.Errorf("%s, want %s", message, want)
	}
	noted := listing(run.Record{Spec: run.Spec{ID: "r1"}, Result: &run.Result{UnprovenNote: "All is lost"}})
	if message := unprovenMessage(noted); !strings.HasPrefix(message, "All is lost. See") {
		t.Error(message)
	}
	if listing(cutOff("r1")).Status.Unproven != nil {
		t.Error("a list without anything in it is kept")
	}
}

func TestAcknowledgedResources(t *testing.T) {
	many := make([]run.Unproven, infrav1.MaxUnproven)
	for i := range many {
		many[i] = mayExist(fmt.Sprintf("a.b[%d]", i))
	}
	for sentence, test := range map[string]struct {
		word string
		runs []run.Record
		want []string
	}{
		"without an acknowledgement":                                   {"", []run.Record{cutOff("r1", mayExist("a.b"))}, []string{"a.b of r1: may exist, and no state has it"}},
		"all up to a run":                                              {"r2", []run.Record{cutOff("r1", mayExist("a.b")), cutOff("r2", mayBeGone("a.c")), cutOff("r3", mayExist("a.d"))}, []string{"a.d of r3: may exist, and no state has it"}},
		"some addresses":                                               {"r2\na.c\na.d\n", []run.Record{cutOff("r1", mayExist("a.b"), mayExist("a.c")), cutOff("r3", mayExist("a.d"))}, []string{"a.b of r1: may exist, and no state has it", "a.d of r3: may exist, and no state has it"}},
		"a key with a quoted newline":                                  {"r1\na.b[\"x\\ny\"]", []run.Record{cutOff("r1", mayExist(`a.b["x\ny"]`))}, nil},
		"all, including those that the status does not name":           {"r1", []run.Record{cutOff("r0", many...), cutOff("r1", mayExist("a.z"))}, nil},
		"addresses do not include those that the status does not name": {"r1\na.z", []run.Record{cutOff("r0", many...), cutOff("r1", mayExist("a.z"))}, append(standing(listing(cutOff("r0", many...))), "1 more of r1")},
		"all runs listed before, regardless of the order of ids":       {"r9", []run.Record{cutOff("r9", mayExist("a.b")), cutOff("r5", mayExist("a.c"))}, []string{"a.c of r5: may exist, and no state has it"}},
		"up to the last run, regardless of the order of ids":           {"r5", []run.Record{cutOff("r9", mayExist("a.b")), cutOff("r5", mayExist("a.c"))}, nil},
		"not a run that has just ended":                                {"r9", []run.Record{cutOff("r5", mayExist("a.c")), cutOff("now", mayExist("a.d"))}, []string{"a.d of now: may exist, and no state has it"}},
		"by the digest that distinguishes masked addresses":            {"r1\nf00d", []run.Record{cutOff("r1", run.Unproven{Address: "a.(sensitive)", Match: "beef", MayExist: true}, run.Unproven{Address: "a.(sensitive)", Match: "f00d", MayBeGone: true})}, []string{"a.(sensitive) of r1: may exist, and no state has it"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			obj := listing(test.runs...)
			acknowledge(obj.Status.Unproven, test.word, "now")
			if tidyUnproven(obj.Status.Unproven) {
				obj.Status.Unproven = nil
			}
			if diff := cmp.Diff(test.want, standing(obj)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestProofByLaterRuns(t *testing.T) {
	state := func(addresses ...string) func(*proof) {
		return func(p *proof) { p.state = stateHolding("new", addresses...) }
	}
	before := func(addresses ...string) func(*proof) {
		return func(p *proof) { p.state = stateHolding("old", addresses...) }
	}
	replaced := run.Unproven{Address: "a.b", MayExist: true, MayBeGone: true, Replaces: true, ReplacedID: "old"}
	made := func(addresses ...string) func(*proof) {
		return func(p *proof) {
			for _, address := range addresses {
				p.made[plan.Match(address)] = true
			}
		}
	}
	tried := func(p *proof) { p.tried = map[string]bool{plan.Match("a.b"): true} }
	looked := func(p *proof) { p.looked = true }
	ofRun := func(id string) func(*proof) { return func(p *proof) { p.run = id } }
	const exists, gone = "may exist, and no state has it", "may be gone, though the state has it"
	for sentence, test := range map[string]struct {
		listed []run.Unproven
		proofs [][]func(*proof)
		want   []string
	}{
		"the state has it, such as after an import":                          {[]run.Unproven{mayExist("a.b"), mayExist("a.c")}, [][]func(*proof){{state("a.b")}}, []string{"a.c of r1: " + exists}},
		"a state that cannot be read proves nothing":                         {[]run.Unproven{mayExist("a.b")}, [][]func(*proof){{looked}}, []string{"a.b of r1: " + exists}},
		"created again, there may be two":                                    {[]run.Unproven{mayExist("a.b")}, [][]func(*proof){{state("a.b"), made("a.b")}}, []string{"a.b of r1: " + exists + "; run r2 created it again"}},
		"the state of the next run does not prove an object created twice":   {[]run.Unproven{mayExist("a.b")}, [][]func(*proof){{state("a.b"), made("a.b")}, {state("a.b"), ofRun("r3")}}, []string{"a.b of r1: " + exists + "; run r2 created it again"}},
		"a refresh settles an object that may be gone":                       {[]run.Unproven{mayBeGone("a.b")}, [][]func(*proof){{looked, state("a.b")}}, nil},
		"a run without a refresh does not settle an object that may be gone": {[]run.Unproven{mayBeGone("a.b")}, [][]func(*proof){{state("a.b")}}, []string{"a.b of r1: " + gone}},
		"a replacement is not proven by the old object":                      {[]run.Unproven{replaced}, [][]func(*proof){{looked, before("a.b")}}, []string{"a.b of r1: " + exists}},
		"a replacement is not proven if the old id is unknown":               {[]run.Unproven{{Address: "a.b", MayExist: true, Replaces: true}}, [][]func(*proof){{looked, state("a.b")}}, []string{"a.b of r1: " + exists}},
		"a replacement is not proven by a state with only addresses":         {[]run.Unproven{replaced}, [][]func(*proof){{looked, func(p *proof) { p.state = unproven.Listed([]string{plan.Match("a.b")}) }}}, []string{"a.b of r1: " + exists}},
		"a replacement is proven by an object with another id":               {[]run.Unproven{replaced}, [][]func(*proof){{looked, state("a.b")}}, nil},
		"a half-proven replacement stays":                                    {[]run.Unproven{replaced}, [][]func(*proof){{looked, state()}}, []string{"a.b of r1: " + exists}},
		"any number of instances may exist, whatever the state has":          {[]run.Unproven{{Address: "a.b", MayExist: true, Many: true, Replaces: true}}, [][]func(*proof){{looked, state("a.b")}}, []string{"a.b of r1: any number of it may exist"}},
		"the run itself proves nothing":                                      {[]run.Unproven{mayExist("a.b"), mayBeGone("a.c")}, [][]func(*proof){{state("a.b"), looked, ofRun("r1")}}, []string{"a.b of r1: " + exists, "a.c of r1: " + gone}},
		"a masked address is known by its digest":                            {[]run.Unproven{{Address: "a.(sensitive)", Match: plan.Match("a.x"), MayExist: true}}, [][]func(*proof){{state("a.x")}}, nil},
		"a masked address that the state lacks stays":                        {[]run.Unproven{{Address: "a.(sensitive)", Match: plan.Match("a.x"), MayExist: true}}, [][]func(*proof){{state("a.(sensitive)")}}, []string{"a.(sensitive) of r1: " + exists}},
		"a run with an unknown plan may have created it again":               {[]run.Unproven{mayExist("a.b")}, [][]func(*proof){{state("a.b"), func(p *proof) { p.all = true }}}, []string{"a.b of r1: " + exists + "; run r2 created it again"}},
		"an object in the state may be that of a failed run":                 {[]run.Unproven{mayExist("a.b")}, [][]func(*proof){{state("a.b"), tried}, {state("a.b"), ofRun("r3")}}, []string{"a.b of r1: " + exists + "; run r2 created it again"}},
		"an unreadable state may have the object of a failed run":            {[]run.Unproven{mayExist("a.b")}, [][]func(*proof){{tried}, {state("a.b"), ofRun("r3")}}, []string{"a.b of r1: " + exists + "; run r2 created it again"}},
		"a failed creation proves nothing":                                   {[]run.Unproven{mayExist("a.b")}, [][]func(*proof){{state(), tried}}, []string{"a.b of r1: " + exists}},
		"an object that left the state is settled":                           {[]run.Unproven{mayBeGone("a.b")}, [][]func(*proof){{state("a.c")}}, nil},
		"an unreadable state may still have the object":                      {[]run.Unproven{mayBeGone("a.b")}, [][]func(*proof){{}}, []string{"a.b of r1: " + gone}},
		"another state proves nothing":                                       {[]run.Unproven{mayExist("a.b"), mayBeGone("a.c")}, [][]func(*proof){{state("a.b"), looked, func(p *proof) { p.on = "another" }}}, []string{"a.b of r1: " + exists, "a.c of r1: " + gone}},
		"a state that was unreadable before is read":                         {[]run.Unproven{{Address: "a.b", MayExist: true, StateUnread: true}, {Address: "a.c", MayBeGone: true, StateUnread: true}, {Address: "a.d", MayExist: true, StateUnread: true}}, [][]func(*proof){{state("a.c", "a.d")}}, []string{"a.b of r1: " + exists, "a.c of r1: " + gone}},
		"an import proves it after a failed creation":                        {[]run.Unproven{mayExist("a.b")}, [][]func(*proof){{state(), tried}, {state("a.b"), ofRun("r3")}}, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			obj := listing(cutOff("r1", test.listed...))
			for _, parts := range test.proofs {
				p := &proof{run: "r2", on: workedOn(cutOff("r1")), made: map[string]bool{}}
				for _, part := range parts {
					part(p)
				}
				p.weigh(obj.Status.Unproven)
			}
			if tidyUnproven(obj.Status.Unproven) {
				obj.Status.Unproven = nil
			}
			if diff := cmp.Diff(test.want, standing(obj)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFurtherUnprovenResourcesAreCounted(t *testing.T) {
	list := make([]run.Unproven, infrav1.MaxUnproven+4)
	var present []string
	for i := range list {
		list[i] = mayExist(fmt.Sprintf("a.b[%d]", i))
		if i != infrav1.MaxUnproven+1 {
			present = append(present, list[i].Address)
		}
	}
	state := stateHolding("new", present...)
	weigh := func(obj *infrav1.Terraform, p *proof) {
		p.state, p.on = state, workedOn(cutOff("r1"))
		p.weigh(obj.Status.Unproven)
		if r := &obj.Status.Unproven.Runs[0]; p.countsAnew(*r) {
			p.weighMore(r, list)
		}
	}
	obj := listing(cutOff("r1", list...))
	weigh(obj, &proof{run: "r2", made: map[string]bool{}})
	if diff := cmp.Diff([]string{"1 more of r1"}, standing(obj)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	obj = listing(cutOff("r1", list...))
	weigh(obj, &proof{run: "r2", made: map[string]bool{plan.Match(list[infrav1.MaxUnproven].Address): true}})
	weigh(obj, &proof{run: "r3", made: map[string]bool{}})
	if diff := cmp.Diff([]string{"4 more of r1"}, standing(obj)); diff != "" {
		t.Errorf("one was made once more (-want +got):\n%s", diff)
	}
	obj = listing(cutOff("r1", list...))
	weigh(obj, &proof{run: "r2", tried: map[string]bool{plan.Match(list[infrav1.MaxUnproven].Address): true}})
	weigh(obj, &proof{run: "r3"})
	if diff := cmp.Diff([]string{"4 more of r1"}, standing(obj)); diff != "" {
		t.Errorf("one was begun once more (-want +got):\n%s", diff)
	}
	for i := range list {
		list[i].Replaces, list[i].ReplacedID = true, "new"
	}
	obj = listing(cutOff("r1", list...))
	weigh(obj, &proof{run: "r2", made: map[string]bool{}})
	if n := countUnproven(obj.Status.Unproven); n != len(list) {
		t.Errorf("%d replacements are left, want all %d", n, len(list))
	}
}

// An apply that is always killed is retried forever: the status stays small and complete.
func TestRunsInTheStatusAreLimited(t *testing.T) {
	obj := stackObject()
	const runs = 2000
	for i := range runs {
		rec := cutOff(fmt.Sprintf("r%04d", i), mayExist("a.b"), mayExist("a.c"))
		if i == 7 {
			rec.Result.UnprovenNote = "All is lost"
		}
		recordUnproven(obj, rec)
		recordUnproven(obj, rec)
	}
	u := obj.Status.Unproven
	want := infrav1.UnprovenRun{ID: "r1950", State: workedOn(cutOff("r1")), OlderRuns: 1950, More: 2*1951 - infrav1.MaxUnproven, Note: "All is lost"}
	if diff := cmp.Diff(want, u.Runs[0]); diff != "" || len(u.Runs) != infrav1.MaxUnprovenRuns || countUnproven(u) != 2*runs {
		t.Errorf("%d runs, %d resources (-want +got):\n%s", len(u.Runs), countUnproven(u), diff)
	}
	p := &proof{run: "r9999", on: workedOn(cutOff("r1")), made: map[string]bool{}, state: stateHolding("new", "a.b", "a.c")}
	p.weigh(u)
	if p.countsAnew(u.Runs[0]) || !p.countsAnew(u.Runs[1]) {
		t.Error("several runs have no list of their own, and one run has")
	}
	u.Runs[0].More, u.Runs[0].Note = 0, ""
	u.Resources = []infrav1.UnprovenResource{{Address: "a.z", Run: "r0001", MayExist: true}}
	if tidyUnproven(u); u.Runs[0].ID != "r1950" {
		t.Error("the entry of older runs is gone, and one of their resources is listed")
	}
	// The clock was set back: the new run is listed, and stays.
	recordUnproven(obj, cutOff("r0003", mayExist("a.late")))
	if last := u.Resources[len(u.Resources)-1]; last.Address != "a.late" || tidyUnproven(u) || u.Runs[len(u.Runs)-1].ID != "r0003" {
		t.Errorf("%+v", u)
	}
	acknowledge(u, "r0003", "")
	if !tidyUnproven(u) {
		t.Errorf("all is acknowledged: %+v", u)
	}
}

// stateHolding is a state with objects of this id at these addresses.
func stateHolding(id string, addresses ...string) *unproven.State {
	var objects []unproven.Object
	for _, address := range addresses {
		objects = append(objects, unproven.Object{Address: address, ID: id})
	}
	return unproven.NewState(objects)
}

func TestObjectsCreatedByARun(t *testing.T) {
	fates := []run.Fate{{Address: "a.b", Action: run.ActionCreate}, {Address: "a.c", Action: run.ActionReplace}, {Address: "a.d", Action: run.ActionDelete}}
	for sentence, test := range map[string]struct {
		result  run.Result
		applied *run.PlanResult
		want    string
	}{
		"the objects of its plan":                           {run.Result{Outcome: run.OutcomeSucceeded}, &run.PlanResult{Fates: fates, FatesTotal: 3}, "a.b a.c"},
		"the objects in its complete log, if it failed":     {run.Result{Outcome: run.OutcomeFailed, Trace: &run.Trace{Whole: true, Steps: []run.TraceStep{{Address: "a.b", Action: run.ActionCreate, Ended: run.TraceFailed}, {Address: "a.c", Action: run.ActionCreate, Ended: run.TraceDone}, {Address: "a.d", Action: run.ActionDelete, Ended: run.TraceFailed}}}}, &run.PlanResult{Fates: fates, FatesTotal: 3}, "a.b? a.c"},
		"all objects of its plan, if its log is incomplete": {run.Result{Outcome: run.OutcomeInterrupted, Trace: &run.Trace{}}, &run.PlanResult{Fates: fates, FatesTotal: 3}, "a.b a.c"},
		"any object, if its plan is lost":                   {run.Result{Outcome: run.OutcomeSucceeded}, nil, "all"},
		"any object, if its plan names only a part":         {run.Result{Outcome: run.OutcomeSucceeded}, &run.PlanResult{Fates: fates, FatesTotal: 4}, "all"},
		"any object, if an older runner only counted":       {run.Result{Outcome: run.OutcomeSucceeded}, &run.PlanResult{Counts: run.Counts{Add: 1}}, "all"},
		"nothing, if it created nothing":                    {run.Result{Outcome: run.OutcomeSucceeded}, &run.PlanResult{Counts: run.Counts{Change: 1}}, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			p := &proof{made: map[string]bool{}, tried: map[string]bool{}}
			p.takeMade(&test.result, test.applied)
			var got []string
			for _, address := range []string{"a.b", "a.c", "a.d"} {
				if p.made[plan.Match(address)] {
					got = append(got, address)
				}
				if p.tried[plan.Match(address)] {
					got = append(got, address+"?")
				}
			}
			if p.all {
				got = []string{"all"}
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("%v, want %s", got, test.want)
			}
		})
	}
}

// A value of the annotation counts once: later runs may have ids that sort before it.
func TestAcknowledgementsCountOnce(t *testing.T) {
	obj := listing(cutOff("r9", mayExist("a.b")))
	obj.Annotations = map[string]string{infrav1.AnnotationAcknowledged: "r9"}
	p := passOver(obj)
	weigh := func() []string {
		if err := leftoversOf(&Reconciler{}).weighUnproven(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		return standing(obj)
	}
	if got := weigh(); got != nil {
		t.Errorf("listed: %v", got)
	}
	recordUnproven(obj, cutOff("r5", mayExist("a.c")))
	want := []string{"a.c of r5: may exist, and no state has it"}
	if diff := cmp.Diff(want, weigh()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	obj.Annotations[infrav1.AnnotationAcknowledged] = "r5"
	if got := weigh(); got != nil {
		t.Errorf("listed: %v", got)
	}
}

// Events list what was acknowledged, with notes, and what a later run settled.
func TestEventListsSettledResources(t *testing.T) {
	noted := cutOff("r1")
	noted.Result.UnprovenNote = "All is lost"
	for sentence, test := range map[string]struct {
		runs []run.Record
		word string
		want []string
	}{
		"resources":   {[]run.Record{cutOff("r1", mayExist("a.b"), mayExist("a.c"))}, "r1\na.b", []string{"Of 2 unproven resources 1 were acknowledged, and a later run has settled 0"}},
		"only a note": {[]run.Record{noted}, "r1", []string{"Acknowledged: All is lost"}},
		"nothing":     {[]run.Record{noted}, "", nil},
	} {
		obj := listing(test.runs...)
		obj.Annotations = map[string]string{infrav1.AnnotationAcknowledged: test.word}
		p := passOver(obj)
		if err := leftoversOf(&Reconciler{}).weighUnproven(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, n := range p.notes {
			got = append(got, n.message)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", sentence, diff)
		}
	}
}

// Programs and providers choose the length of addresses and ids: the status stays small.
func TestStatusSizeIsLimited(t *testing.T) {
	long := strings.Repeat("\u00fc", 50_000)
	controls := strings.Repeat("\x01", 390)
	var objects []run.Unproven
	for i := range infrav1.MaxUnproven {
		objects = append(objects, run.Unproven{Address: fmt.Sprintf("a.b[\"%d%s\"]", i, long), ID: long, MayExist: true, Replaces: true, ReplacedID: long})
	}
	for range infrav1.MaxUnproven {
		objects = append(objects, run.Unproven{Address: "a.c." + controls, ID: controls, Identity: controls, MayExist: true, Replaces: true, ReplacedID: controls})
	}
	for _, rec := range []run.Record{cutOff("r1", objects[:infrav1.MaxUnproven]...), cutOff("r1", objects[infrav1.MaxUnproven:]...)} {
		obj := listing(rec)
		text, err := json.Marshal(obj.Status.Unproven)
		if err != nil {
			t.Fatal(err)
		}
		if named := len(obj.Status.Unproven.Resources); len(text) > 140<<10 || named < 10 || countUnproven(obj.Status.Unproven) != infrav1.MaxUnproven {
			t.Errorf("%d bytes, %d named of %d", len(text), named, countUnproven(obj.Status.Unproven))
		}
		if advice := unprovenAdvice(rec.Result); len(advice) > 8<<10 {
			t.Errorf("the failure's message has %d bytes", len(advice))
		}
	}
	obj := listing(cutOff("r1", objects[0]))
	if one := obj.Status.Unproven.Resources[0]; !utf8.ValidString(one.Address) || !strings.HasPrefix(one.Address, "a.b[\"0\u00fc") || one.Match != plan.Match(objects[0].Address) || one.ReplacedID != "" {
		t.Errorf("%.99q, %q, %.99q", one.Address, one.Match, one.ReplacedID)
	}
}

// lostRuns are runs whose records are gone. They record the order of actions.
type lostRuns struct {
	Runs
	States
	done     []string
	salvaged run.Record
	holder   *state.LockInfo
	err      error
}

func (l *lostRuns) HolderNow(context.Context, state.Key) (*state.LockInfo, error) {
	return l.holder, nil
}

func (l *lostRuns) Resume(context.Context, run.Stack, string) (run.Record, error) {
	return run.Record{}, run.ErrNotFound
}

func (l *lostRuns) Salvage(_ context.Context, rec run.Record) (run.Record, error) {
	l.done, l.salvaged = append(l.done, "salvage"), rec
	return rec, l.err
}

func (l *lostRuns) Unlock(_ context.Context, _ state.Key, holder string) error {
	l.done = append(l.done, "unlock "+holder)
	return nil
}

// An apply without a record did begin: its possible leftovers are recorded before its lock goes.
func TestAppliesWithoutARecord(t *testing.T) {
	for sentence, test := range map[string]struct {
		status string
		holder string
		err    error
		done   []string
		over   bool
	}{
		"it was applying":              {status: "applying", done: []string{"salvage", "unlock r1"}, over: true},
		"nothing can be put on record": {status: "applying", err: errFailing, done: []string{"salvage"}},
		"it was queued":                {status: "queued", over: true},
		"it holds the lock":            {status: "queued", holder: "r1", done: []string{"salvage", "unlock r1"}, over: true},
		"another run holds the lock":   {status: "queued", holder: "r2", over: true},
	} {
		lost := &lostRuns{err: test.err}
		if test.holder != "" {
			lost.holder = &state.LockInfo{ID: test.holder}
		}
		obj := stackObject()
		obj.Status.CurrentRun = &infrav1.RunReference{ID: "r1", Operation: string(run.OperationPlanAndApply), Status: test.status}
		r := &Reconciler{Runs: lost, States: lost, Log: slog.New(slog.DiscardHandler)}
		_, err := runHistoryOf(r).collect(t.Context(), &passOver(obj).pass)
		if !errors.Is(err, test.err) || (obj.Status.CurrentRun == nil) != test.over {
			t.Errorf("%s: %v, %+v", sentence, err, obj.Status.CurrentRun)
		}
		if diff := cmp.Diff(test.done, lost.done); diff != "" {
			t.Errorf("%s (-want +got):\n%s", sentence, diff)
		}
		if len(test.done) > 0 && !lost.salvaged.Result.ApplyStarted {
			t.Errorf("%s: %+v", sentence, lost.salvaged.Result)
		}
	}
}

// A run whose record is lost used the state that the stack names, so that later runs can prove what it left.
func TestAnApplyWithoutARecordKeepsItsState(t *testing.T) {
	for sentence, config := range map[string]*infrav1.BackendConfigSpec{
		"a state that Yuba keeps": nil,
		"a backend of its own":    {CustomConfiguration: `backend "s3" {}`},
		"the module's backend":    {Disable: true},
	} {
		lost := &lostRuns{}
		obj := stackObject()
		obj.Spec.BackendConfig = config
		obj.Status.CurrentRun = &infrav1.RunReference{ID: "r1", Operation: string(run.OperationPlanAndApply), Status: "applying"}
		r := &Reconciler{Runs: lost, States: lost, Log: slog.New(slog.DiscardHandler)}
		if _, err := runHistoryOf(r).collect(t.Context(), &passOver(obj).pass); err != nil {
			t.Fatalf("%s: %v", sentence, err)
		}
		backend, err := inputs.Backend(obj, &inputs.Inputs{})
		if err != nil {
			t.Fatalf("%s: %v", sentence, err)
		}
		later := run.Record{Spec: run.Spec{Backend: run.Backend{Kind: run.BackendKind(backend.Kind), Override: backend.HCL}}, State: stateRefOf(obj)}
		if got, want := workedOn(lost.salvaged), workedOn(later); got != want {
			t.Errorf("%s: the run worked on %s, and later ones work on %s", sentence, got, want)
		}
	}
}
