// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/runs/executor"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

func TestTheFirstResultCounts(t *testing.T) {
	h := newHome(t)
	h.applying(h.record("r1"))
	h.faults.set("unlock", true)
	h.mustDo(http.StatusServiceUnavailable, h.of("r1", "POST", "/result", run.Result{Outcome: run.OutcomeFailed, Error: "boom", LockFile: []byte("provider")}))
	if len(h.ended) != 0 {
		t.Fatal("told of an end before the lock was given back")
	}
	h.faults.set("unlock", false)
	h.finish("r1", run.Result{Outcome: run.OutcomeFailed, Error: "boom", LockFile: []byte("provider")})
	h.endedOnce()
	h.mustDo(http.StatusGone, h.of("r1", "POST", "/result", succeeded()))
	if got := h.stored("r1").Result; got.Error != "boom" || h.holder() != "" {
		t.Errorf("result %+v, locked by %q", got, h.holder())
	}
	if got, err := h.exec.LockFile(t.Context(), h.stack); err != nil || string(got) != "provider" {
		t.Errorf("lock file %q, %v", got, err)
	}
}

func TestAResultThatCannotBeStoredIsNotTold(t *testing.T) {
	for _, part := range []string{run.BlobLog, run.BlobRecord} {
		h := newHome(t)
		h.started(h.record("r1"))
		h.faults.set("put "+part, true)
		h.mustDo(http.StatusServiceUnavailable, h.of("r1", "POST", "/result", succeeded()))
		if _, _, ok := h.exec.InHand(h.stack); !ok || len(h.ended) != 0 {
			t.Errorf("%s: in hand %v, told %d times", part, ok, len(h.ended))
		}
		h.faults.set("put "+part, false)
		h.finish("r1", succeeded())
		h.endedOnce()
	}
}

func TestARunWhoseRunnerIsGoneIsInterruptedAndItsLockReleased(t *testing.T) {
	h := newHome(t)
	h.applying(h.record("r1"))
	h.ship(http.StatusNoContent, "r1", 1, stateOf(1))
	h.poll("two", 1, ghost) // another runner, which knows nothing of it
	h.endedOnce()
	got := h.stored("r1").Result
	if got.Outcome != run.OutcomeInterrupted || got.Class != run.FailureKilled || !got.ApplyStarted || !strings.Contains(got.Error, "r1") {
		t.Errorf("result %+v", got)
	}
	if h.holder() != "" {
		t.Errorf("still locked by %q", h.holder())
	}
	h.mustDo(http.StatusGone, h.of("r1", "POST", "/result", succeeded()))
}

func TestARunOfAnotherRunnerIsLeftToWhoHasIt(t *testing.T) {
	h := newHome(t)
	h.started(h.record("r1"))
	h.poll("two", 1, "r1", ghost) // found in its directory
	if rec, _, ok := h.exec.InHand(h.stack); !ok || rec.Result != nil {
		t.Errorf("in hand %v: %+v", ok, rec)
	}
	h.finish("r1", succeeded())
}

func quietRun(h *home, id string) run.Record {
	rec := h.record(id)
	rec.Quiet, rec.Announced = true, false
	return rec
}

func ids(records []run.Record) []string {
	var ids []string
	for _, r := range records {
		ids = append(ids, r.Spec.ID)
	}
	return ids
}

func (h *home) listed(limit int) []string {
	h.t.Helper()
	records, err := h.exec.List(h.t.Context(), h.stack, limit)
	if err != nil {
		h.t.Fatal(err)
	}
	return ids(records)
}

// The blob store still has the pass before the last one while that is not stored.
func TestAStoredPassIsOverwrittenAtOnce(t *testing.T) {
	h := newHome(t)
	for _, id := range []string{"r1", "r2"} {
		h.started(quietRun(h, id))
		h.finish(id, succeeded())
		h.active = nil
		if id == "r1" {
			h.exec.Recorded(h.stack, id)
			h.exec.Flush(t.Context())
		}
	}
	if _, err := h.exec.Record(t.Context(), h.stack, "r1"); !errors.Is(err, run.ErrNotFound) {
		t.Errorf("an overwritten pass: %v", err)
	}
}

func TestPassesThatFindNothingShareOneRecord(t *testing.T) {
	h := newHome(t)
	for _, id := range []string{"r1", "r2", "r3"} {
		h.started(quietRun(h, id))
		h.mustDo(http.StatusOK, h.of(id, "PUT", "/log", []byte("log of "+id)).with(run.HeaderOffset, "0"))
		h.finish(id, succeeded())
		h.active = nil
		rec, ok := h.exec.TakeEnded(h.stack)
		if !ok || rec.Spec.ID != id {
			t.Fatalf("took %q, %v", rec.Spec.ID, ok)
		}
		h.exec.Recorded(h.stack, id)
	}
	if _, ok := h.exec.TakeEnded(h.stack); ok {
		t.Error("what was recorded is told again")
	}
	if diff := cmp.Diff([]string{"r3"}, h.listed(10)); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	if got := h.stored("r3"); got.Passes != 3 {
		t.Errorf("%d passes on record", got.Passes)
	}
	if _, err := h.exec.Record(t.Context(), h.stack, "r2"); !errors.Is(err, run.ErrNotFound) {
		t.Errorf("an overwritten pass: %v", err)
	}
	if got := h.log("r3", false); got != "log of r3" {
		t.Errorf("log %q", got)
	}
	h.exec.Flush(t.Context())
	if got := h.log("r3", false); got != "log of r3" {
		t.Errorf("log on record %q", got)
	}
	h.start()
	last, err := h.exec.LastQuiet(t.Context(), h.stack)
	if err != nil || time.Since(last) > time.Minute {
		t.Errorf("a new server says that the last pass ended at %s, %v", last, err)
	}
}

func TestAPassThatFindsChangesHasARecordOfItsOwn(t *testing.T) {
	h := newHome(t)
	h.started(quietRun(h, "r1"))
	h.finish("r1", succeeded())
	h.active = nil
	h.started(quietRun(h, "r2"))
	h.finish("r2", run.Result{Outcome: run.OutcomeSucceeded, Plan: &run.PlanResult{Changes: true}, Finished: time.Now()})
	if got := h.stored("r2"); got.Quiet || got.Passes != 0 {
		t.Errorf("on record: %+v", got)
	}
	if diff := cmp.Diff([]string{"r2", "r1"}, h.listed(10)); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
}

func TestAPassThatAppliesComesForwardBeforeItTakesTheLock(t *testing.T) {
	h := newHome(t)
	lockedWhenNamed := "not asked"
	asked := 0
	h.permit = permitWith(func(rec run.Record) {
		if asked++; asked == 1 {
			lockedWhenNamed = h.holder()
			if _, err := h.blobs.Get(t.Context(), h.stack.Key("r1", run.BlobRecord), 1<<20); err != nil {
				t.Errorf("named before it is on record: %v", err)
			}
		}
		if rec.Quiet || !rec.Announced {
			t.Errorf("asked about %+v", rec)
		}
	})
	h.applying(quietRun(h, "r1"))
	if lockedWhenNamed != "" || h.holder() != "r1" {
		t.Errorf("locked by %q when the status named it, by %q now", lockedWhenNamed, h.holder())
	}
	h.finish("r1", run.Result{Outcome: run.OutcomeSucceeded, Applied: true, ApplyStarted: true})
	if diff := cmp.Diff([]string{"r1"}, h.listed(10)); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
}

func TestAPassThatCouldNotBeNamedIsHeardOfAndTakesNoLock(t *testing.T) {
	h := newHome(t)
	var locked []string
	h.permit = func(run.Record) (executor.Permission, error) {
		locked = append(locked, h.holder())
		return executor.Permission{}, errFault
	}
	h.started(quietRun(h, "r1"))
	h.mustDo(http.StatusNoContent, h.of("r1", "GET", "/state"))
	for range 2 {
		h.mustDo(http.StatusServiceUnavailable, h.of("r1", "POST", "/continue", run.ContinueRequest{Step: run.StepApply}))
	}
	if diff := cmp.Diff([]string{"", ""}, locked); diff != "" {
		t.Errorf("the lock's holder whenever the status was to name the run (-want +got):\n%s", diff)
	}
	h.finish("r1", run.Result{Outcome: run.OutcomeFailed, Error: "stopped"})
	if rec, ok := h.exec.TakeEnded(h.stack); !ok || rec.Spec.ID != "r1" {
		t.Errorf("nobody hears of its end: %q, %v", rec.Spec.ID, ok)
	}
}

func TestRunsAreListedNewestFirst(t *testing.T) {
	h := newHome(t)
	for _, id := range []string{"a1", "a2", "a3"} {
		h.started(h.record(id))
		h.finish(id, succeeded())
		h.active = nil
	}
	h.started(quietRun(h, "a4"))
	h.finish("a4", succeeded())
	for limit, want := range map[int][]string{1: {"a4"}, 2: {"a4", "a3"}, 9: {"a4", "a3", "a2", "a1"}} {
		if diff := cmp.Diff(want, h.listed(limit)); diff != "" {
			t.Errorf("at most %d (-want +got):\n%s", limit, diff)
		}
	}
}

// log reads a run's log as the server tells it.
func (h *home) log(id string, follow bool) string {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 10*time.Second)
	defer cancel()
	var b strings.Builder
	if err := h.exec.WriteLog(ctx, h.stack, id, follow, &b); err != nil {
		h.t.Fatal(err)
	}
	return b.String()
}

func TestAnInterruptedRunThatWasPermittedMayHaveApplied(t *testing.T) {
	h := newHome(t)
	h.applying(h.record("r1"))
	h.finish("r1", run.Result{Outcome: run.OutcomeInterrupted}) // of a runner that lost its journal
	h.started(h.record("r2"))
	h.finish("r2", run.Result{Outcome: run.OutcomeInterrupted})
	if begun, not := h.stored("r1").Result.ApplyStarted, h.stored("r2").Result.ApplyStarted; !begun || not {
		t.Errorf("permitted: %v, not permitted: %v", begun, not)
	}
}
