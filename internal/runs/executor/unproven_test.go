// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
	"github.com/yuba-dev/yuba/internal/tofu/state"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

// stateWith is a state of such a serial that has these resource instances of type a, by name.
func stateWith(serial int, names ...string) string {
	var resources []string
	for _, name := range names {
		resources = append(resources, fmt.Sprintf(`{"mode":"managed","type":"a","name":%q,"instances":[{"attributes":{"id":"id-%s"}}]}`, name, name))
	}
	return fmt.Sprintf(`{"version":4,"serial":%d,"lineage":"line","outputs":{},"resources":[%s]}`, serial, strings.Join(resources, ","))
}

// fated is a plan that creates a.x and a.y, replaces a.r and destroys a.d.
func fated() *run.PlanResult {
	return &run.PlanResult{Changes: true, Counts: run.Counts{Add: 3, Destroy: 2}, FatesTotal: 4, Fates: []run.Fate{
		{Address: "a.x", Action: run.ActionCreate}, {Address: "a.y", Action: run.ActionCreate, Identity: `name "why"`},
		{Address: "a.r", Action: run.ActionReplace}, {Address: "a.d", Action: run.ActionDelete},
	}}
}

// permitted begins a run whose apply is permitted, on a state that has a.r and a.d.
func (h *home) permitted(rec run.Record, p *run.PlanResult) {
	h.t.Helper()
	h.permittedOn(stateWith(1, "r", "d"), rec, p)
}

func (h *home) permittedOn(before string, rec run.Record, p *run.PlanResult) {
	h.t.Helper()
	seed := h.record("r0")
	h.applying(seed)
	h.ship(http.StatusNoContent, "r0", 1, before)
	h.finish("r0", succeeded())
	h.active = nil
	<-h.ended
	h.started(rec)
	h.mustDo(http.StatusOK, h.of(rec.Spec.ID, "GET", "/state"))
	got := decoded[run.ContinueResponse](h, h.mustDo(http.StatusOK, h.of(rec.Spec.ID, "POST", "/continue", run.ContinueRequest{Step: run.StepApply, Plan: p})))
	if !got.Go {
		h.t.Fatalf("not permitted: %+v", got)
	}
}

// unproven are the lines of what a run's result lists.
func (h *home) unproven(id string) []string {
	h.t.Helper()
	result := h.stored(id).Result
	var lines []string
	for _, u := range result.Unproven {
		lines = append(lines, u.String())
	}
	if result.UnprovenMore > 0 {
		lines = append(lines, fmt.Sprintf("%d more", result.UnprovenMore))
	}
	if result.UnprovenNote != "" {
		lines = append(lines, result.UnprovenNote)
	}
	return lines
}

var all = []string{
	"a.x: may exist, and no state has it", `a.y (name "why"): may exist, and no state has it`,
	`a.r (id "id-r"): may be gone, and its replacement may exist`, `a.d (id "id-d"): may be gone, though the state has it`,
}

// gone has the runner vanish with everything it had.
func (h *home) gone() {
	h.t.Helper()
	h.poll("two", 1, ghost)
	h.endedOnce()
}

func TestWhatARunnerThatIsGoneMayHaveLeftIsListed(t *testing.T) {
	for sentence, test := range map[string]struct {
		rec  func(*home, *run.Record)
		plan *run.PlanResult
		do   func(*home)
		want []string
	}{
		"by the plan that it told": {nil, fated(), func(*home) {}, all},
		"but for what its last state proves": {nil, fated(), func(h *home) { h.ship(http.StatusNoContent, "r1", 1, stateWith(2, "x", "r")) },
			[]string{all[1], all[2]}},
		"after the server has started anew": {nil, fated(), func(h *home) {
			h.start()
			if _, err := h.exec.Resume(h.t.Context(), h.stack, "r1"); err != nil {
				h.t.Fatal(err)
			}
		}, all},
		"nothing, when nothing was to be made or destroyed": {nil, &run.PlanResult{Changes: true, Counts: run.Counts{Change: 1}}, func(*home) {}, nil},
		"by the log, when it planned and applied in one go": {nil, nil, func(h *home) {
			h.tell("r1", `{"@message":"x","type":"planned_change","change":{"resource":{"addr":"a.x"},"action":"create"}}`,
				`{"@message":"x","type":"planned_change","change":{"resource":{"addr":"a.u"},"action":"update"}}`,
				`{"@message":"x","type":"change_summary","changes":{"add":1,"operation":"plan"}}`,
				`{"@message":"x","type":"apply_complete","hook":{"resource":{"addr":"a.x"},"action":"create","id_value":"i-1"}}`)
		}, []string{"a.x (i-1): was created, and no state has it"}},
		"by the program, when nothing else is left": {func(h *home, rec *run.Record) { rec.Spec.Artifact.Digest = h.program(`resource "a" "x" {}`) }, nil, func(*home) {},
			[]string{"a.x: any number of it may exist", "The plan of the apply is lost. These are the resources that the program declares: any number of each may exist, or have been destroyed"}},
		"with a word when the program is gone, too": {nil, nil, func(*home) {},
			[]string{"The plan of the apply and its program are lost: compare the state with the real infrastructure"}},
		"by the log's part and the program, when the log was cut": {func(h *home, rec *run.Record) {
			rec.Spec.Artifact.Digest = h.program(`resource "a" "z" {}`)
		}, nil, func(h *home) {
			h.tell("r1", `{"@message":"x","type":"planned_change","change":{"resource":{"addr":"a.x"},"action":"create"}}`)
		}, []string{"a.x: may exist, and no state has it", "a.z: any number of it may exist",
			"The plan of the apply is lost. These are the resources that the program declares: any number of each may exist, or have been destroyed"}},
		"by a count beside the names of a very large plan": {nil, &run.PlanResult{Counts: run.Counts{Add: 9}, FatesTotal: 9, Fates: []run.Fate{{Address: "a.x", Action: run.ActionCreate}}}, func(*home) {},
			[]string{"a.x: may exist, and no state has it", "8 more"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			h := newHome(t)
			rec := h.record("r1")
			rec.Spec.Limits.LogBytes = 1 << 20
			if test.rec != nil {
				test.rec(h, &rec)
			}
			h.permitted(rec, test.plan)
			test.do(h)
			h.gone()
			if diff := cmp.Diff(test.want, h.unproven("r1")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if rec := h.stored("r1"); rec.Planned != nil {
				t.Error("the plan is kept twice")
			}
			var log bytes.Buffer
			if err := h.exec.WriteLog(t.Context(), h.stack, "r1", false, &log); err != nil {
				t.Fatal(err)
			}
			for _, line := range test.want {
				if text, _ := json.Marshal(line); !strings.Contains(line, " more") && !bytes.Contains(log.Bytes(), text) {
					t.Errorf("the log lacks %s:\n%s", text, log.String())
				}
			}
		})
	}
}

// tell ships lines of a log.
func (h *home) tell(id string, lines ...string) {
	h.t.Helper()
	h.mustDo(http.StatusOK, h.of(id, "PUT", "/log", []byte(strings.Join(lines, "\n")+"\n")).with(run.HeaderOffset, "0"))
}

// program stores a program and returns its digest.
func (h *home) program(text string) string {
	h.t.Helper()
	var packed bytes.Buffer
	digest, err := archive.PackInline(map[string]string{"main.tf": text}, &packed)
	if err != nil {
		h.t.Fatal(err)
	}
	if _, _, err := h.blobs.PutArtifact(h.t.Context(), &packed, 1<<20); err != nil {
		h.t.Fatal(err)
	}
	return digest
}

func TestWhatARunnerHeardCountsBesideTheState(t *testing.T) {
	h := newHome(t)
	h.permitted(h.record("r1"), fated())
	trace := &run.Trace{Whole: true, Steps: []run.TraceStep{{Address: "a.x", Action: run.ActionCreate}, {Address: "a.d", Action: run.ActionDelete, Ended: run.TraceDone}}}
	result := run.Result{Outcome: run.OutcomeInterrupted, ApplyStarted: true, Error: "killed", Trace: trace, Plan: fated()}
	h.faults.set("unlock", true)
	h.mustDo(http.StatusServiceUnavailable, h.of("r1", "POST", "/result", result))
	h.faults.set("unlock", false)
	h.finish("r1", result)
	want := []string{all[0], `a.d (id "id-d"): was destroyed, and the state still has it`}
	if diff := cmp.Diff(want, h.unproven("r1")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var log bytes.Buffer
	if err := h.exec.WriteLog(t.Context(), h.stack, "r1", false, &log); err != nil || strings.Count(log.String(), "a.x: may exist") != 1 {
		t.Errorf("the log (%v):\n%s", err, log.String())
	}
}

func TestAnApplyThatFailedInGoodOrderLeavesNothing(t *testing.T) {
	h := newHome(t)
	h.permitted(h.record("r1"), fated())
	h.ship(http.StatusNoContent, "r1", 1, stateWith(2, "x", "r", "d"))
	h.finish("r1", run.Result{Outcome: run.OutcomeFailed, ApplyStarted: true, Applied: true, Error: "boom", Plan: fated(), Trace: &run.Trace{Whole: true, Orderly: true,
		Steps: []run.TraceStep{{Address: "a.x", Action: run.ActionCreate, Ended: run.TraceDone, ID: "id-x"}, {Address: "a.y", Action: run.ActionCreate, Ended: run.TraceFailed}}}})
	if got := h.unproven("r1"); got != nil {
		t.Errorf("listed: %q", got)
	}
}

func TestASavedPlanIsReadWhereItWasMade(t *testing.T) {
	for sentence, spoil := range map[string]func(h *home){
		"from its record": func(*home) {},
		"from the readable plan, as the record is bad": func(h *home) { h.spoil("r1", run.BlobRecord) },
	} {
		t.Run(sentence, func(t *testing.T) {
			h := newHome(t)
			rec := h.record("r1")
			rec.Spec.Operation = run.OperationPlan
			h.started(rec)
			document, err := json.Marshal(&plan.Plan{Version: 1, Changes: []plan.ResourceChange{{Address: "a.x", Mode: "managed", Action: plan.Create}, {Address: "a.u", Mode: "managed", Action: plan.Update}}})
			if err != nil {
				t.Fatal(err)
			}
			h.mustDo(http.StatusNoContent, h.of("r1", "PUT", "/plan.json", document))
			h.finish("r1", run.Result{Outcome: run.OutcomeSucceeded, Plan: &run.PlanResult{Changes: true, Counts: run.Counts{Add: 1}, FatesTotal: 1, Fates: []run.Fate{{Address: "a.x", Action: run.ActionCreate}}}})
			<-h.ended
			h.exec.Recorded(h.stack, "r1")
			h.active = nil
			spoil(h)
			rec = h.record("r2")
			rec.Spec.Operation, rec.Spec.Plan = run.OperationApply, &run.PlanRef{ID: "plan-1", RunID: "r1"}
			h.started(rec)
			h.mustDo(http.StatusNoContent, h.of("r2", "GET", "/state"))
			if got := h.goOn("r2"); !got.Go {
				t.Fatalf("%+v", got)
			}
			h.gone()
			if diff := cmp.Diff([]string{"a.x: may exist, and no state has it"}, h.unproven("r2")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// spoil damages a stored part of a run.
func (h *home) spoil(id, part string) {
	h.t.Helper()
	found, err := filepath.Glob(filepath.Join(h.dir, "runs", h.stack.Namespace, "*", "*", id, part))
	if err != nil || len(found) != 1 {
		h.t.Fatalf("%v, %v", found, err)
	}
	data, err := os.ReadFile(found[0])
	if err != nil {
		h.t.Fatal(err)
	}
	data[len(data)-1] ^= 0xff
	if err := os.WriteFile(found[0], data, 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// orderlyEnd is the end of an apply whose tool came to its end and has created a.x.
func orderlyEnd() run.Result {
	return run.Result{Outcome: run.OutcomeFailed, ApplyStarted: true, Applied: true, Error: "boom", Plan: fated(), Trace: &run.Trace{Whole: true, Orderly: true,
		Steps: []run.TraceStep{{Address: "a.x", Action: run.ActionCreate, Ended: run.TraceDone, ID: "id-x"}, {Address: "a.y", Action: run.ActionCreate, Ended: run.TraceFailed}}}}
}

// secret changes the Secret that holds the state; a change to nothing deletes it.
func (h *home) secret(change func(*corev1.Secret)) {
	h.t.Helper()
	api, secret := apitest.Client(h.t), &corev1.Secret{}
	err := api.Get(h.t.Context(), client.ObjectKey{Namespace: h.stack.Namespace, Name: h.key().SecretName()}, secret)
	if err == nil {
		if change == nil {
			err = api.Delete(h.t.Context(), secret)
		} else {
			change(secret)
			err = api.Update(h.t.Context(), secret)
		}
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// A state that nobody can read proves nothing, however orderly the tool ended. One that the tool
// reads is another matter.
func TestAnOrderlyEndProvesNothingWithoutAState(t *testing.T) {
	damaged := func(h *home) {
		h.secret(func(s *corev1.Secret) {
			for key := range s.Data {
				s.Data[key] = []byte("junk")
			}
		})
	}
	made := []string{"a.x (id-x): was created, and its state could not be read"}
	for sentence, test := range map[string]struct {
		change func(*run.Record)
		do     func(*home)
		want   []string
	}{
		"damaged":         {nil, damaged, made},
		"gone":            {nil, func(h *home) { h.secret(nil) }, made},
		"forbidden":       {nil, func(h *home) { h.faults.set("forbid read", true) }, made},
		"the tool's own":  {func(rec *run.Record) { rec.Spec.Backend.Kind = run.BackendOwn }, damaged, nil},
		"all is in order": {nil, func(h *home) { h.ship(http.StatusNoContent, "r1", 1, stateWith(2, "x", "r", "d")) }, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			h := newHome(t)
			rec := h.record("r1")
			if test.change != nil {
				test.change(&rec)
			}
			h.permitted(rec, fated())
			test.do(h)
			h.finish("r1", orderlyEnd())
			if diff := cmp.Diff(test.want, h.unproven("r1")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Evidence that cannot be read does not keep an apply in hand, and its lock, for ever.
func TestTheEndOfAnApplyWaitsForItsEvidenceForSomeTime(t *testing.T) {
	h := newHome(t)
	h.permitted(h.record("r1"), fated())
	h.faults.set("read", true)
	h.mustDo(http.StatusServiceUnavailable, h.of("r1", "POST", "/result", orderlyEnd()))
	if h.holder() != "r1" {
		t.Error("the lock is gone before the run is over")
	}
	h.exec, h.readPatience = nil, time.Nanosecond
	h.start()
	if _, err := h.exec.Resume(t.Context(), h.stack, "r1"); err != nil {
		t.Fatal(err)
	}
	h.finish("r1", orderlyEnd())
	want := []string{"a.x (id-x): was created, and its state could not be read", "Not all evidence could be read: compare the state with the real infrastructure"}
	if diff := cmp.Diff(want, h.unproven("r1")); diff != "" || h.holder() != "" {
		t.Errorf("locked by %q (-want +got):\n%s", h.holder(), diff)
	}
}

// A server that starts anew does not know whether the last state was stored. When the state is gone
// nobody ever will.
func TestALastStateThatIsGoneEndsTheRunAllTheSame(t *testing.T) {
	shipped, other := stateWith(2, "x", "y", "r"), stateWith(3, "z")
	for sentence, test := range map[string]struct {
		last  string
		spoil func(*home)
		want  string
	}{
		"gone, and not shipped":     {other, func(h *home) { h.secret(nil) }, ") is not stored."},
		"forbidden":                 {shipped, func(h *home) { h.faults.set("forbid read", true) }, "whether it is the stack's state cannot be verified: "},
		"forbidden and not shipped": {other, func(h *home) { h.faults.set("forbid read", true) }, "cannot be verified: "},
		"not shipped":               {other, func(*home) {}, ") is not stored."},
		"not the last any more": {shipped, func(h *home) {
			before := state.Mark{Serial: 2, Lineage: "line", Digest: statefile.Digest([]byte(shipped))}
			if _, err := h.states.Write(h.t.Context(), h.key(), state.WriteRequest{Data: []byte(other), RunID: "rx", Previous: before}); err != nil {
				h.t.Fatal(err)
			}
		}, "but it is not the stack's current state"},
	} {
		t.Run(sentence, func(t *testing.T) {
			h := newHome(t)
			h.permitted(h.record("r1"), fated())
			last := test.last
			h.ship(http.StatusNoContent, "r1", 1, shipped)
			h.start()
			if _, err := h.exec.Resume(t.Context(), h.stack, "r1"); err != nil {
				t.Fatal(err)
			}
			test.spoil(h)
			h.finish("r1", run.Result{Outcome: run.OutcomeSucceeded, Applied: true, ApplyStarted: true, StateDigest: statefile.Digest([]byte(last))})
			result := h.stored("r1").Result
			if result.Outcome != run.OutcomeFailed || result.Class != run.FailureState || h.holder() != "" {
				t.Errorf("locked by %q: %+v", h.holder(), result)
			}
			if !strings.Contains(result.Error, test.want) || !strings.Contains(result.Error, "`yuba status "+h.stack.Name+" -n "+h.stack.Namespace+"`") {
				t.Errorf("%s, want %s", result.Error, test.want)
			}
		})
	}
}

// What the server takes from a state is masked like all that leaves the runner.
func TestNamesFromStatesAreMasked(t *testing.T) {
	const secret = "correct-horse-battery"
	h := newHome(t)
	rec := h.record("r1")
	rec.Spec.Variables = map[string]run.Variable{"password": {Value: json.RawMessage(`"` + secret + `"`), Secret: true}}
	h.permittedOn(fmt.Sprintf(`{"version":4,"serial":1,"lineage":"line","outputs":{},"resources":[
		{"mode":"managed","type":"a","name":"r","instances":[{"attributes":{"id":%[1]q}}]},
		{"mode":"managed","type":"a","name":"d","instances":[{"attributes":{"id":%[1]q,"name":%[1]q}}]}]}`, "x-"+secret), rec, fated())
	result := run.Result{Outcome: run.OutcomeInterrupted, ApplyStarted: true, Plan: &run.PlanResult{Changes: true, FatesTotal: 3, Fates: []run.Fate{
		{Address: "a.r", Action: run.ActionReplace}, {Address: "a.d", Action: run.ActionDelete}, {Address: `a.n["` + secret + `"]`, Action: run.ActionCreate}}}}
	h.finish("r1", result)
	listed := h.stored("r1").Result.Unproven
	text, _ := json.Marshal(listed)
	if len(listed) != 3 || strings.Contains(string(text), "horse") {
		t.Fatalf("%s", text)
	}
	for _, u := range listed {
		switch u.Address {
		case "a.r":
			if !u.Replaces || u.ReplacedID != "" {
				t.Errorf("a masked id proves a replacement: %+v", u)
			}
		case `a.n["(sensitive)"]`:
			if u.Match != plan.Match(`a.n["`+secret+`"]`) {
				t.Errorf("%+v", u)
			}
		}
	}
	var log bytes.Buffer
	if err := h.exec.WriteLog(t.Context(), h.stack, "r1", false, &log); err != nil || strings.Contains(log.String(), "horse") || !strings.Contains(log.String(), "a.d") {
		t.Errorf("the log (%v):\n%s", err, log.String())
	}
}

// An apply that only failed to read its outputs has stored its state, so nothing is listed. If that
// state was lost, its resources are.
func TestAnApplyWhoseOutputsCannotBeReadLeavesNothing(t *testing.T) {
	for sentence, test := range map[string]struct {
		result run.Result
		listed bool
	}{
		"the outputs failed":           {run.Result{Outcome: run.OutcomeFailed, FailedStep: run.StepOutput}, false},
		"they were called off":         {run.Result{Outcome: run.OutcomeFailed, Class: run.FailureCanceled, FailedStep: run.StepOutput}, false},
		"the state was lost meanwhile": {run.Result{Outcome: run.OutcomeFailed, Class: run.FailureState, FailedStep: run.StepOutput}, true},
		"the apply was cut off":        {run.Result{Outcome: run.OutcomeInterrupted, FailedStep: run.StepApply}, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			h := newHome(t)
			rec := h.record("r1")
			rec.Spec.Backend.Kind = run.BackendOwn
			h.permitted(rec, fated())
			result := test.result
			result.ApplyStarted, result.Applied, result.Plan, result.Error = true, true, fated(), "boom"
			h.finish("r1", result)
			if got := h.unproven("r1"); (len(got) > 0) != test.listed {
				t.Errorf("listed: %q", got)
			}
		})
	}
}
