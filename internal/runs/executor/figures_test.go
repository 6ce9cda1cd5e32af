// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/runs/executor"
	"github.com/yuba-dev/yuba/internal/runs/queue"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

func TestFiguresTellWhatIsInHand(t *testing.T) {
	h := newHome(t)
	if f := h.exec.Figures(); len(f.AtWork)+len(f.Lines) != 0 || !f.Runner.Seen.IsZero() || f.Runner.Asking {
		t.Errorf("before anything happened: %+v", f)
	}
	queued(h)
	before := time.Now()
	usage := &run.Usage{MemoryBytes: 20 << 20, CPU: run.Duration(time.Second), ChildCPU: run.Duration(time.Minute)}
	given := h.pollWith(run.PollRequest{Runner: "one", Version: "v1", Capacity: 1, Active: []string{ghost}, Usage: usage})
	if len(given.Runs) != 1 || given.Runs[0].ID != "awaited" {
		t.Fatalf("given %+v", given.Runs)
	}
	h.mustDo(http.StatusOK, h.of("awaited", "GET", ""))
	f := h.exec.Figures()
	if len(f.Lines) != 2 || f.Lines[0].Class != queue.Changed || f.Lines[1].Class != queue.Drift || f.Lines[0].Waiting != 1 || f.Lines[0].Group != h.stack.Namespace {
		t.Errorf("waiting: %+v", f.Lines)
	}
	work := map[executor.Work]int{{Namespace: h.stack.Namespace, Operation: run.OperationPlanAndApply}: 1}
	if diff := cmp.Diff(work, f.AtWork); diff != "" {
		t.Errorf("at work (-want +got):\n%s", diff)
	}
	if f.Applying != 0 {
		t.Errorf("%d apply before they may", f.Applying)
	}
	if r := f.Runner; r.Seen.Before(before) || r.Asking || r.Version != "v1" || !cmp.Equal(usage, r.Usage) {
		t.Errorf("the runner: %+v", r)
	}
	h.stack.Name = "stack-awaited"
	h.mustDo(http.StatusNoContent, h.of("awaited", "GET", "/state"))
	if got := h.goOn("awaited"); !got.Go {
		t.Fatalf("not permitted: %+v", got)
	}
	if f := h.exec.Figures(); f.Applying != 1 {
		t.Errorf("%d apply, want 1", f.Applying)
	}
}

// A runner prepares runs beside those that work. It tells of them when it asks for more, which may
// be a while ago.
func TestPreparedRunsAreNotAtWork(t *testing.T) {
	h := newHome(t)
	queued(h)
	h.pollWith(run.PollRequest{Runner: "one", Capacity: 3, Active: []string{ghost}, Places: 2})
	all := []string{"awaited", "change", "drift"}
	for _, id := range all {
		h.mustDo(http.StatusOK, h.of(id, "GET", ""))
	}
	shown := func() (working, prepared []string) {
		for _, u := range h.exec.AtWork() {
			if u.Prepared {
				prepared = append(prepared, u.Run.Spec.ID)
			} else {
				working = append(working, u.Run.Spec.ID)
			}
		}
		f := h.exec.Figures()
		n := 0
		for _, count := range f.AtWork {
			n += count
		}
		if f.Prepared != len(prepared) || n != len(working) {
			t.Errorf("the figures say that %d work and %d are prepared, the list %d and %d", n, f.Prepared, len(working), len(prepared))
		}
		return working, prepared
	}
	h.pollWith(run.PollRequest{Runner: "one", Active: append(all, ghost), Places: 2, Ahead: []string{"drift"}})
	if working, prepared := shown(); len(working) != 2 || len(prepared) != 1 || prepared[0] != "drift" {
		t.Errorf("working %v, prepared %v", working, prepared)
	}
	h.stack.Name = "stack-awaited"
	h.finish("awaited", succeeded())
	if working, prepared := shown(); len(working) != 2 || len(prepared) != 0 {
		t.Errorf("one has ended, and its place is taken: working %v, prepared %v", working, prepared)
	}
	// An earlier runner tells nothing.
	h.pollWith(run.PollRequest{Runner: "one", Active: []string{"change", "drift", ghost}})
	if working, prepared := shown(); len(working) != 2 || len(prepared) != 0 {
		t.Errorf("of an earlier runner: working %v, prepared %v", working, prepared)
	}
}

func TestARunThatEndedIsObservedOnce(t *testing.T) {
	h := newHome(t)
	observed := make(chan run.Record, 10)
	h.observed = func(rec run.Record) { observed <- rec }
	h.start()
	h.started(h.record("r1"))
	h.faults.set("put "+run.BlobRecord, true)
	h.mustDo(http.StatusServiceUnavailable, h.of("r1", "POST", "/result", succeeded()))
	if len(observed) != 0 {
		t.Error("a result that is not on record was observed")
	}
	h.faults.set("put "+run.BlobRecord, false)
	h.finish("r1", succeeded())
	h.mustDo(http.StatusGone, h.of("r1", "POST", "/result", succeeded()))
	if len(observed) != 1 {
		t.Fatalf("observed %d times, want once", len(observed))
	}
	if rec := <-observed; rec.Spec.ID != "r1" || rec.Started == nil || rec.Result == nil || rec.Result.Outcome != run.OutcomeSucceeded {
		t.Errorf("observed %+v", rec)
	}
}
