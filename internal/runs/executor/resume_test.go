// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/yuba-dev/yuba/internal/runs/executor"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

// resume starts the server anew and has it take up the run that the status names.
func (h *home) resume(id string) run.Record {
	h.t.Helper()
	h.start()
	rec, err := h.exec.Resume(h.t.Context(), h.stack, id)
	if err != nil {
		h.t.Fatal(err)
	}
	return rec
}

func TestANewServerTakesUpWhatTheOneBeforeLeft(t *testing.T) {
	for sentence, test := range map[string]struct {
		before func(*home)
		after  func(*home)
	}{
		"prepared: handed out": {
			func(h *home) {
				if err := h.exec.Prepare(h.t.Context(), h.record("r1")); err != nil {
					h.t.Fatal(err)
				}
			},
			func(h *home) { h.assigned("r1") },
		},
		"waiting: handed out": {
			func(h *home) { h.begin(h.record("r1")) },
			func(h *home) { h.assigned("r1") },
		},
		"assigned, and the runner heard of it: left to the runner": {
			func(h *home) { h.begin(h.record("r1")); h.assigned("r1") },
			func(h *home) {
				h.nothingFor("one", "r1")
				h.mustDo(http.StatusOK, h.of("r1", "GET", ""))
				h.nothingFor("one", "r1")
				h.finish("r1", succeeded())
			},
		},
		"assigned, and the runner fetches it before it asks for work: not handed out twice": {
			func(h *home) { h.begin(h.record("r1")); h.assigned("r1") },
			func(h *home) {
				h.mustDo(http.StatusOK, h.of("r1", "GET", ""))
				h.nothingFor("one", "r1")
			},
		},
		"begun: its result is taken": {
			func(h *home) { h.started(h.record("r1")); h.sendLog("r1", 0, "one, ") },
			func(h *home) {
				h.nothingFor("one", "r1")
				h.sendLog("r1", 5, "two")
				h.finish("r1", succeeded())
				if got := h.log("r1", false); got != "one, two" {
					h.t.Errorf("log %q", got)
				}
			},
		},
		"begun, and the runner is gone, too: begins anew with a log of its own": {
			func(h *home) { h.started(h.record("r1")); h.sendLog("r1", 0, "what the first one wrote") },
			func(h *home) {
				h.started(h.record("r1"))
				h.sendLog("r1", 0, "anew")
				if got := h.log("r1", false); got != "anew" {
					h.t.Errorf("log %q", got)
				}
			},
		},
		"applying: goes on, its states follow each other, its lock is released": {
			func(h *home) {
				h.applying(h.record("r1"))
				h.ship(http.StatusNoContent, "r1", 1, stateOf(1))
			},
			func(h *home) {
				h.ship(http.StatusNoContent, "r1", 1, stateOf(1))
				h.ship(http.StatusNoContent, "r1", 2, stateOf(2))
				if err := h.exec.Cancel(h.t.Context(), "r1"); err != nil {
					h.t.Fatal(err)
				}
				if got := h.poll("one", 1, "r1", ghost); len(got.Cancel) != 0 || len(got.Runs) != 0 {
					h.t.Errorf("told %+v", got)
				}
				if h.holder() != "r1" {
					h.t.Errorf("locked by %q", h.holder())
				}
				h.finish("r1", run.Result{Outcome: run.OutcomeSucceeded, Applied: true, ApplyStarted: true})
				if mark := h.stored("r1").StateMark; mark == nil || mark.Serial != 2 {
					h.t.Errorf("on record with state %+v", mark)
				}
			},
		},
		"applying, and the runner is gone, too: interrupted": {
			func(h *home) { h.applying(h.record("r1")) },
			func(h *home) {
				h.nothingFor("two")
				if got := h.stored("r1").Result; got == nil || got.Outcome != run.OutcomeInterrupted || !got.ApplyStarted {
					h.t.Errorf("result %+v", got)
				}
			},
		},
		"planned, and the state is still the one it was given: may apply": {
			func(h *home) { h.started(h.record("r1")); h.mustDo(http.StatusNoContent, h.of("r1", "GET", "/state")) },
			func(h *home) {
				h.nothingFor("one", "r1")
				ask := run.ContinueRequest{Step: run.StepApply, State: run.NoState}
				answer := decoded[run.ContinueResponse](h, h.mustDo(http.StatusOK, h.of("r1", "POST", "/continue", ask)))
				if mark := h.stored("r1").StateMark; !answer.Go || mark == nil || *mark != (run.StateMark{}) {
					h.t.Errorf("%+v, on record with state %+v", answer, mark)
				}
			},
		},
		"planned, and the state is another: may not apply": {
			func(h *home) { h.started(h.record("r1")); h.mustDo(http.StatusNoContent, h.of("r1", "GET", "/state")) },
			func(h *home) {
				h.nothingFor("one", "r1")
				ask := run.ContinueRequest{Step: run.StepApply, State: statefile.Digest([]byte(stateOf(1)))}
				answer := decoded[run.ContinueResponse](h, h.mustDo(http.StatusOK, h.of("r1", "POST", "/continue", ask)))
				if answer.Go || answer.Class != run.FailureStalePlan {
					h.t.Errorf("%+v", answer)
				}
				h.finish("r1", run.Result{Outcome: run.OutcomeFailed})
			},
		},
		"locked, but its permission is not on record: the lock is released with its end": {
			func(h *home) {
				h.started(h.record("r1"))
				h.mustDo(http.StatusNoContent, h.of("r1", "GET", "/state"))
				h.permit = func(run.Record) (executor.Permission, error) { return executor.Permission{}, errFault }
				h.mustDo(http.StatusServiceUnavailable, h.of("r1", "POST", "/continue", run.ContinueRequest{Step: run.StepApply}))
				if h.holder() != "r1" {
					h.t.Fatalf("locked by %q", h.holder())
				}
			},
			func(h *home) {
				h.nothingFor("one", "r1")
				h.finish("r1", run.Result{Outcome: run.OutcomeCanceled})
			},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			h := newHome(t)
			test.before(h)
			h.active = nil
			if rec := h.resume("r1"); rec.Result != nil {
				t.Fatalf("it is over: %+v", rec.Result)
			}
			test.after(h)
			if _, _, ok := h.exec.InHand(h.stack); !ok && h.holder() != "" {
				t.Errorf("it is over, and the state still locked by %q", h.holder())
			}
		})
	}
}

func TestARunThatIsOverIsNotTakenUp(t *testing.T) {
	h := newHome(t)
	h.started(h.record("r1"))
	h.finish("r1", succeeded())
	if rec := h.resume("r1"); rec.Result == nil {
		t.Error("it has no result")
	}
	if inHand, _ := h.exec.Busy(); inHand != 0 {
		t.Errorf("%d in hand", inHand)
	}
	if _, err := h.exec.Resume(t.Context(), h.stack, "never"); !errors.Is(err, run.ErrNotFound) {
		t.Errorf("a run that never was: %v", err)
	}
}
