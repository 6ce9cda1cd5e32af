// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// disk makes the store take records and logs, or not.
func (h *home) disk(works bool) {
	h.faults.set("put "+run.BlobRecord, !works)
	h.faults.set("put "+run.BlobLog, !works)
}

func TestAPassThatFindsNothingWaitsForNoDisk(t *testing.T) {
	h := newHome(t)
	h.disk(false)
	h.started(quietRun(h, "r1"))
	h.sendLog("r1", 0, "what it did")
	h.finish("r1", succeeded())
	h.endedOnce()
	if rec, ok := h.exec.TakeEnded(h.stack); !ok || rec.Spec.ID != "r1" {
		t.Errorf("took %q, %v", rec.Spec.ID, ok)
	}
	if last, err := h.exec.LastQuiet(t.Context(), h.stack); err != nil || last.IsZero() {
		t.Errorf("the last pass ended at %s, %v", last, err)
	}
}

func TestAPassThatIsNotStoredYetIsReadAllTheSame(t *testing.T) {
	h := newHome(t)
	stored := make(chan struct{})
	h.faults.hold("put "+run.BlobLog, stored)
	h.started(quietRun(h, "r1"))
	h.sendLog("r1", 0, "what it did")
	h.finish("r1", succeeded())
	h.active = nil
	look := func(when string) {
		if got := h.stored("r1"); got.Result == nil {
			t.Errorf("%s: on record: %+v", when, got)
		}
		if got := h.log("r1", true); got != "what it did" {
			t.Errorf("%s: log %q", when, got)
		}
		if diff := cmp.Diff([]string{"r1"}, h.listed(10)); diff != "" {
			t.Errorf("%s: runs (-want +got):\n%s", when, diff)
		}
	}
	look("before it is stored")
	close(stored)
	h.exec.Flush(t.Context())
	look("when it is stored")
	if _, err := h.blobs.Get(t.Context(), h.stack.Key(run.QuietSlot, run.BlobRecord), 1<<20); err != nil {
		t.Error(err)
	}
}

func TestOfPassesThatEndWhileOneIsBeingStoredTheLastIsOnRecord(t *testing.T) {
	h := newHome(t)
	stored := make(chan struct{})
	h.faults.hold("put "+run.BlobLog, stored)
	for _, id := range []string{"r1", "r2", "r3"} {
		h.started(quietRun(h, id))
		h.finish(id, succeeded())
		h.exec.Recorded(h.stack, id)
		h.active = nil
	}
	close(stored)
	h.exec.Flush(t.Context())
	h.start()
	if got := h.stored("r3"); got.Passes != 3 {
		t.Errorf("%d passes on record", got.Passes)
	}
}

func TestAPassInHandIsListedBesideTheOneBefore(t *testing.T) {
	h := newHome(t)
	h.started(quietRun(h, "r1"))
	h.finish("r1", succeeded())
	h.active = nil
	h.exec.Flush(t.Context())
	h.started(quietRun(h, "r2"))
	if diff := cmp.Diff([]string{"r2", "r1"}, h.listed(10)); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	if got := h.stored("r1"); got.Result == nil {
		t.Errorf("the one before lost its result: %+v", got)
	}
}

func TestAPassIsPutOnRecordWhenItWasHeardOf(t *testing.T) {
	h := newHome(t)
	h.started(quietRun(h, "r1"))
	h.finish("r1", succeeded())
	onRecord := func() bool {
		_, err := h.blobs.Get(t.Context(), h.stack.Key(run.QuietSlot, run.BlobRecord), 1<<20)
		return err == nil
	}
	if onRecord() {
		t.Error("it is stored before the listener heard of it")
	}
	h.exec.Recorded(h.stack, "r1")
	for deadline := time.Now().Add(10 * time.Second); !onRecord(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it is never stored")
		}
	}
}

func TestNothingIsStoredOfAStackThatIsGone(t *testing.T) {
	h := newHome(t)
	h.started(quietRun(h, "r1"))
	h.finish("r1", succeeded())
	h.exec.Forget(h.stack)
	h.exec.Flush(t.Context())
	if _, err := h.exec.Record(t.Context(), h.stack, "r1"); !errors.Is(err, run.ErrNotFound) {
		t.Error(err)
	}
}

// What a crash takes of a pass that has found nothing costs nothing: the next server knows of no
// run, holds nothing against the next pass, and makes it.
func TestAPassThatACrashTookIsMadeAgain(t *testing.T) {
	for sentence, end := range map[string]func(*home){
		"while it was in hand": func(*home) {},
		"when it was over and not stored yet": func(h *home) {
			h.finish("r2", succeeded())
			h.exec.Flush(h.t.Context())
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			h := newHome(t)
			h.started(quietRun(h, "r1"))
			h.finish("r1", succeeded())
			h.active = nil
			h.exec.Flush(t.Context())
			before, err := h.exec.LastQuiet(t.Context(), h.stack)
			if err != nil {
				t.Fatal(err)
			}
			h.disk(false)
			h.started(quietRun(h, "r2"))
			h.mustDo(http.StatusNoContent, h.of("r2", "GET", "/state"))
			end(h)
			h.disk(true)
			h.start()
			if last, err := h.exec.LastQuiet(t.Context(), h.stack); err != nil || !last.Equal(before) {
				t.Errorf("the last pass ended at %s, %v, want that of the first: %s", last, err, before)
			}
			if got := h.poll("one", 4, "r2"); !cmp.Equal(got.Forget, []string{"r2"}) {
				t.Errorf("its runner is told %+v", got)
			}
			if holder := h.holder(); holder != "" {
				t.Errorf("the state is locked by %q", holder)
			}
			h.active = nil
			h.started(quietRun(h, "r3"))
			h.finish("r3", succeeded())
			if got := h.stored("r3"); got.Passes == 0 || got.Result == nil {
				t.Errorf("the next pass: %+v", got)
			}
		})
	}
}

func TestAPassThatFoundSomethingIsOverWhenItIsOnRecord(t *testing.T) {
	h := newHome(t)
	h.started(quietRun(h, "r1"))
	h.disk(false)
	failed := run.Result{Outcome: run.OutcomeFailed, Error: "no such region"}
	h.mustDo(http.StatusServiceUnavailable, h.of("r1", "POST", "/result", failed))
	h.disk(true)
	h.finish("r1", failed)
	h.endedOnce()
	if _, err := h.blobs.Get(t.Context(), h.stack.Key("r1", run.BlobRecord), 1<<20); err != nil {
		t.Error(err)
	}
	if _, err := h.blobs.Get(t.Context(), h.stack.Key(run.QuietSlot, run.BlobRecord), 1<<20); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("in the place of quiet passes: %v", err)
	}
}
