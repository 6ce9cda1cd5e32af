// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/yuba-dev/yuba/internal/runs/executor"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

// applying begins a run and lets its apply begin.
func (h *home) applying(rec run.Record) {
	h.t.Helper()
	h.started(rec)
	h.mustDo(http.StatusNoContent, h.of(rec.Spec.ID, "GET", "/state"))
	if answer := h.goOn(rec.Spec.ID); !answer.Go {
		h.t.Fatalf("the apply may not begin: %+v", answer)
	}
}

// elsewhere writes a state as another program would.
func (h *home) elsewhere(serial int, previous state.Mark) {
	h.t.Helper()
	_, err := h.states.Write(h.t.Context(), h.key(), state.WriteRequest{Data: []byte(stateOf(serial)), Previous: previous, RunID: "elsewhere"})
	if err != nil {
		h.t.Fatal(err)
	}
}

func TestAnApplyHoldsTheLockUntilItsResult(t *testing.T) {
	h := newHome(t)
	var lockedWhenAsked string
	h.permit = func(run.Record) (executor.Permission, error) {
		lockedWhenAsked = h.holder()
		return executor.Permission{Go: true}, nil
	}
	h.applying(h.record("r1"))
	if lockedWhenAsked != "r1" || h.holder() != "r1" {
		t.Errorf("locked by %q when permitted, by %q now", lockedWhenAsked, h.holder())
	}
	h.permit = func(run.Record) (executor.Permission, error) { return executor.Permission{}, errFault }
	if answer := h.goOn("r1"); !answer.Go {
		t.Errorf("asked again, for the answer was lost: %+v", answer)
	}
	h.ship(http.StatusNoContent, "r1", 1, stateOf(1))
	h.finish("r1", run.Result{Outcome: run.OutcomeSucceeded, Applied: true, ApplyStarted: true})
	h.endedOnce()
	if h.holder() != "" {
		t.Errorf("still locked by %q", h.holder())
	}
	got := h.stored("r1")
	want := &run.StateMark{Serial: 1, Lineage: "l-1", Digest: statefile.Digest([]byte(stateOf(1)))}
	if diff := cmp.Diff(want, got.StateMark); diff != "" || !got.Permitted || got.LockHeld || got.Runner != "one" || got.Started == nil {
		t.Errorf("on record: %+v\nmark (-want +got):\n%s", got, diff)
	}
}

func TestWhetherAnApplyMayBegin(t *testing.T) {
	for sentence, test := range map[string]struct {
		given  func(*home)
		permit executor.Permission
		want   run.ContinueResponse
		locked string
	}{
		"permitted": {permit: executor.Permission{Go: true}, want: run.ContinueResponse{Go: true}, locked: "r1"},
		"no longer wanted: canceled, and the lock is given back with the result": {
			permit: executor.Permission{Reason: "suspended"}, locked: "r1",
			want: run.ContinueResponse{Outcome: run.OutcomeCanceled, Reason: "suspended"}},
		"somebody else holds the lock: failed, and it stays theirs": {
			given: func(h *home) {
				if err := h.states.Lock(h.t.Context(), h.key(), state.LockInfo{ID: "theirs", Who: "ci@build7"}); err != nil {
					h.t.Fatal(err)
				}
			}, permit: executor.Permission{Go: true}, locked: "theirs",
			want: run.ContinueResponse{Outcome: run.OutcomeFailed, Class: run.FailureLocked}},
		"the state moved since it was planned on: failed": {
			given: func(h *home) { h.elsewhere(1, state.Mark{}) }, permit: executor.Permission{Go: true}, locked: "r1",
			want: run.ContinueResponse{Outcome: run.OutcomeFailed, Class: run.FailureStalePlan}},
	} {
		t.Run(sentence, func(t *testing.T) {
			h := newHome(t)
			h.permit = func(run.Record) (executor.Permission, error) { return test.permit, nil }
			h.started(h.record("r1"))
			h.mustDo(http.StatusNoContent, h.of("r1", "GET", "/state"))
			if test.given != nil {
				test.given(h)
			}
			got := h.goOn("r1")
			ignore := cmpopts.IgnoreFields(run.ContinueResponse{}, "Reason")
			if test.permit.Reason != "" {
				ignore = cmp.Options{}
			}
			if diff := cmp.Diff(test.want, got, ignore); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !got.Go && got.Reason == "" {
				t.Error("refused without a reason")
			}
			if h.holder() != test.locked {
				t.Errorf("locked by %q, want %q", h.holder(), test.locked)
			}
			h.finish("r1", run.Result{Outcome: run.OutcomeCanceled})
			if left := strings.Replace(test.locked, "r1", "", 1); h.holder() != left {
				t.Errorf("locked by %q after the end, want %q", h.holder(), left)
			}
		})
	}
}

// Of two answers to the runner's question for the state it may have the one that came first, and
// the record the other.
func TestARunThatWorksOnAnotherStateThanIsOnRecordMayNotApply(t *testing.T) {
	h := newHome(t)
	h.started(h.record("r1"))
	h.mustDo(http.StatusNoContent, h.of("r1", "GET", "/state"))
	ask := run.ContinueRequest{Step: run.StepApply, State: statefile.Digest([]byte(stateOf(1)))}
	answer := decoded[run.ContinueResponse](h, h.mustDo(http.StatusOK, h.of("r1", "POST", "/continue", ask)))
	if answer.Go || answer.Class != run.FailureStalePlan {
		t.Errorf("%+v", answer)
	}
	h.finish("r1", run.Result{Outcome: run.OutcomeFailed})
	if h.holder() != "" {
		t.Errorf("locked by %q after the end", h.holder())
	}
}

func TestAnswersThatCannotBeGivenAreTriedAgain(t *testing.T) {
	h := newHome(t)
	h.permit = func(run.Record) (executor.Permission, error) { return executor.Permission{}, errFault }
	h.started(h.record("r1"))
	h.mustDo(http.StatusNoContent, h.of("r1", "GET", "/state"))
	ask := h.of("r1", "POST", "/continue", run.ContinueRequest{Step: run.StepApply})
	h.mustDo(http.StatusServiceUnavailable, ask)
	h.permit = func(run.Record) (executor.Permission, error) { return executor.Permission{Go: true}, nil }
	// A permission that is not on record is not given.
	h.faults.set("put record.json", true)
	h.mustDo(http.StatusServiceUnavailable, ask)
	h.mustDo(http.StatusServiceUnavailable, ask)
	h.faults.set("put record.json", false)
	if answer := h.goOn("r1"); !answer.Go {
		t.Errorf("answered %+v", answer)
	}
}

func TestAStackWithABackendOfItsOwnIsNotLockedHere(t *testing.T) {
	h := newHome(t)
	rec := h.record("r1")
	rec.Spec.Backend = run.Backend{Kind: run.BackendOwn}
	h.started(rec)
	if answer := h.goOn("r1"); !answer.Go || h.holder() != "" {
		t.Errorf("answered %+v, locked by %q", answer, h.holder())
	}
	h.finish("r1", succeeded())
}

func TestStatesAreStoredInTheirOrderAndOnce(t *testing.T) {
	h := newHome(t)
	h.applying(h.record("r1"))
	for _, sequence := range []int{1, 2, 2, 1, 3} {
		h.ship(http.StatusNoContent, "r1", sequence, stateOf(sequence))
	}
	var serials []uint64
	for v, err := range h.states.Versions(t.Context(), h.key()) {
		if err != nil {
			t.Fatal(err)
		}
		serials = append(serials, v.Serial)
	}
	if diff := cmp.Diff([]uint64{3, 2, 1}, serials); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	if got := h.mustDo(http.StatusOK, h.of("r1", "GET", "/state")); got != stateOf(3) {
		t.Errorf("state %s", got)
	}
}

func TestAStateThatSomebodyElseMovedIsRefusedAndKept(t *testing.T) {
	h := newHome(t)
	h.applying(h.record("r1"))
	h.elsewhere(7, state.Mark{})
	h.ship(http.StatusConflict, "r1", 1, stateOf(1))
	var kept []string
	for v, err := range h.states.Versions(t.Context(), h.key()) {
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, v.RunID)
	}
	if diff := cmp.Diff([]string{"r1", "elsewhere"}, kept); diff != "" {
		t.Errorf("versions by (-want +got):\n%s", diff)
	}
	now, err := h.states.Read(t.Context(), h.key())
	if err != nil || now.Serial != 7 {
		t.Errorf("state %+v, %v", now, err)
	}
}

func TestAStateWhoseAnswerWasLostIsTakenAgain(t *testing.T) {
	h := newHome(t)
	h.applying(h.record("r1"))
	h.faults.set("answer write", true)
	h.ship(http.StatusServiceUnavailable, "r1", 1, stateOf(1))
	h.faults.set("answer write", false)
	h.ship(http.StatusNoContent, "r1", 1, stateOf(1))
	h.ship(http.StatusNoContent, "r1", 2, stateOf(2))
}

func TestAStateOfARunnerThatCountsAnewIsStored(t *testing.T) {
	h := newHome(t)
	h.applying(h.record("r1"))
	h.ship(http.StatusNoContent, "r1", 1, stateOf(1))
	h.ship(http.StatusNoContent, "r1", 2, stateOf(2))
	h.ship(http.StatusNoContent, "r1", 1, stateOf(3)) // its journal was lost
	if got := h.mustDo(http.StatusOK, h.of("r1", "GET", "/state")); got != stateOf(3) {
		t.Errorf("state %s", got)
	}
}
