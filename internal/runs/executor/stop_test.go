// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/runs/executor"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// direct begins a run that plans and applies with one process, and permits that.
func (h *home) direct(id string) {
	h.t.Helper()
	rec := h.record(id)
	rec.Spec.Direct = true
	h.started(rec)
	h.mustDo(http.StatusNoContent, h.of(id, "GET", "/state"))
	if answer := h.goOn(id); !answer.Go {
		h.t.Fatalf("it may not begin: %+v", answer)
	}
}

// changing says with a piece of log that the run has begun to change something.
func (h *home) changing(id string) {
	h.t.Helper()
	r := h.of(id, "PUT", "/log", []byte("x")).with(run.HeaderOffset, "0")
	r.header[run.HeaderChanging] = "true"
	h.mustDo(http.StatusOK, r)
}

func (h *home) cancel(id string) {
	h.t.Helper()
	if err := h.exec.Cancel(h.t.Context(), id); err != nil {
		h.t.Fatal(err)
	}
}

// told are the runs that a poll asks to stop, and those that people want to stop.
func (h *home) told(active ...string) ([]string, map[string]string) {
	h.t.Helper()
	got := h.poll("one", 0, append(active, ghost)...)
	return got.Cancel, got.Stop
}

func TestAFirstApplyIsCalledBackAsLongAsItPlans(t *testing.T) {
	h := newHome(t)
	h.direct("r1")
	if rec, _, _ := h.exec.InHand(h.stack); rec.Changing() || !rec.Permitted {
		t.Errorf("it only plans: %+v", rec)
	}
	h.cancel("r1")
	if cancel, stop := h.told("r1"); !cmp.Equal(cancel, []string{"r1"}) || stop != nil {
		t.Errorf("cancel %v, stop %v", cancel, stop)
	}
	// The wish comes too late: the runner has begun meanwhile.
	h.changing("r1")
	if cancel, _ := h.told("r1"); cancel != nil {
		t.Errorf("cancel %v", cancel)
	}
	if rec, _, _ := h.exec.InHand(h.stack); !rec.Changing() {
		t.Errorf("it changes something: %+v", rec)
	}
	h.finish("r1", run.Result{Outcome: run.OutcomeSucceeded, Applied: true, ApplyStarted: true})
}

func TestAFirstApplyThatHasBegunIsNotCalledBack(t *testing.T) {
	for sentence, begin := range map[string]func(*home){
		"by its runner's word": func(h *home) { h.changing("r1") },
		"by a state":           func(h *home) { h.ship(http.StatusNoContent, "r1", 1, stateOf(1)) },
	} {
		t.Run(sentence, func(t *testing.T) {
			h := newHome(t)
			h.direct("r1")
			begin(h)
			h.cancel("r1")
			if cancel, stop := h.told("r1"); cancel != nil || stop != nil {
				t.Errorf("cancel %v, stop %v", cancel, stop)
			}
		})
	}
}

func TestAServerThatStartsAnewKnowsThatARunOnlyPlans(t *testing.T) {
	h := newHome(t)
	h.direct("r1")
	h.start()
	if _, err := h.exec.Resume(t.Context(), h.stack, "r1"); err != nil {
		t.Fatal(err)
	}
	h.cancel("r1")
	if cancel, _ := h.told("r1"); !cmp.Equal(cancel, []string{"r1"}) {
		t.Errorf("cancel %v", cancel)
	}
	h.changing("r1")
	if cancel, _ := h.told("r1"); cancel != nil {
		t.Errorf("cancel %v", cancel)
	}
}

func (h *home) stop(id string) run.Record {
	h.t.Helper()
	rec, err := h.exec.Stop(h.t.Context(), h.stack, id, "alice")
	if err != nil {
		h.t.Fatal(err)
	}
	return rec
}

func TestAPersonEndsARun(t *testing.T) {
	canceled := run.Result{Outcome: run.OutcomeCanceled, Error: "stopped: the server asked for it"}
	for sentence, c := range map[string]struct {
		begin  func(*home)
		result run.Result
	}{
		"that plans":                      {func(h *home) { h.started(h.record("r1")) }, canceled},
		"that applies":                    {func(h *home) { h.applying(h.record("r1")) }, run.Result{Outcome: run.OutcomeFailed, Error: "tofu apply was stopped: canceled by alice", ApplyStarted: true}},
		"that the server has called back": {func(h *home) { h.started(h.record("r1")); h.cancel("r1") }, canceled},
	} {
		t.Run(sentence, func(t *testing.T) {
			h := newHome(t)
			c.begin(h)
			if rec := h.stop("r1"); rec.Result != nil || rec.StoppedBy != "alice" {
				t.Errorf("%+v", rec)
			}
			cancel, stop := h.told("r1")
			if diff := cmp.Diff(map[string]string{"r1": "canceled by alice"}, stop); diff != "" || !cmp.Equal(cancel, []string{"r1"}) {
				t.Errorf("cancel %v, stop: %s", cancel, diff)
			}
			h.finish("r1", c.result)
			got := h.stored("r1")
			if got.Result.Outcome != run.OutcomeFailed || got.Result.Class != run.FailureCanceled || !strings.Contains(got.Result.Error, "canceled by alice") || got.StoppedBy != "alice" {
				t.Errorf("%+v", got.Result)
			}
			if h.holder() != "" {
				t.Errorf("locked by %s", h.holder())
			}
		})
	}
}

func TestAPersonEndsARunThatWaits(t *testing.T) {
	h := newHome(t)
	h.begin(h.record("r1"))
	rec := h.stop("")
	if rec.Result == nil || rec.Result.Outcome != run.OutcomeFailed || rec.Result.Class != run.FailureCanceled || rec.Spec.ID != "r1" {
		t.Errorf("%+v", rec.Result)
	}
	h.nothingFor("one")
	h.endedOnce()
}

func TestARunThatWasStoppedMayNotBeginItsApply(t *testing.T) {
	h := newHome(t)
	h.started(h.record("r1"))
	h.mustDo(http.StatusNoContent, h.of("r1", "GET", "/state"))
	h.stop("r1")
	if answer := h.goOn("r1"); answer.Go {
		t.Error("it may")
	}
}

func TestWhatSucceededAllTheSameHas(t *testing.T) {
	h := newHome(t)
	h.applying(h.record("r1"))
	h.stop("r1")
	h.finish("r1", run.Result{Outcome: run.OutcomeSucceeded, Applied: true, ApplyStarted: true})
	if got := h.stored("r1"); got.Result.Outcome != run.OutcomeSucceeded || got.Result.Class != "" {
		t.Errorf("%+v", got.Result)
	}
}

func TestNothingIsStoppedThatIsNotInHand(t *testing.T) {
	h := newHome(t)
	if _, err := h.exec.Stop(t.Context(), h.stack, "", "alice"); !errors.Is(err, run.ErrNotFound) {
		t.Error(err)
	}
	h.permit = func(run.Record) (executor.Permission, error) { return executor.Permission{Go: true}, nil }
	h.started(h.record("r1"))
	if _, err := h.exec.Stop(t.Context(), h.stack, "r0", "alice"); !errors.Is(err, run.ErrNotFound) {
		t.Error(err)
	}
	if cancel, stop := h.told("r1"); cancel != nil || stop != nil {
		t.Errorf("cancel %v, stop %v", cancel, stop)
	}
}

func TestAServerThatStartsAnewKnowsWhatAPersonCanceled(t *testing.T) {
	h := newHome(t)
	h.applying(h.record("r1"))
	h.stop("r1")
	h.start()
	if _, err := h.exec.Resume(t.Context(), h.stack, "r1"); err != nil {
		t.Fatal(err)
	}
	cancel, stop := h.told("r1")
	if diff := cmp.Diff(map[string]string{"r1": "canceled by alice"}, stop); diff != "" || !cmp.Equal(cancel, []string{"r1"}) {
		t.Errorf("cancel %v, stop: %s", cancel, diff)
	}
}

// The caller gets an error when the request would not survive a restart.
func TestAWishThatCannotBeKeptIsToldOf(t *testing.T) {
	h := newHome(t)
	h.applying(h.record("r1"))
	h.faults.set("put record.json", true)
	rec, err := h.exec.Stop(t.Context(), h.stack, "r1", "alice")
	if err == nil || !strings.Contains(err.Error(), "would not repeat the request") || rec.StoppedBy != "alice" {
		t.Errorf("%v, %+v", err, rec)
	}
	if _, stop := h.told("r1"); stop["r1"] != "canceled by alice" {
		t.Errorf("stop %v", stop)
	}
}
