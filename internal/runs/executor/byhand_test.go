// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// byHand describes a run that a person asked for.
func (h *home) byHand(id string, operation run.Operation, change *run.StateChange) run.Record {
	rec := h.record(id)
	rec.Spec.Operation, rec.Spec.StateChange, rec.Spec.Purpose, rec.By = operation, change, run.PurposePerson, "ann"
	return rec
}

func (h *home) held(rec run.Record) {
	h.t.Helper()
	if err := h.exec.Hold(rec); err != nil {
		h.t.Fatal(err)
	}
}

func (h *home) begun(rec run.Record) run.Record {
	h.t.Helper()
	h.held(rec)
	rec, err := h.exec.Begin(h.t.Context(), rec)
	if err != nil {
		h.t.Fatal(err)
	}
	return rec
}

func move() *run.StateChange {
	return &run.StateChange{Verb: run.StateMove, Args: []string{"a.b", "a.c"}}
}

func push(serial int) *run.StateChange {
	return &run.StateChange{Verb: run.StatePush, State: []byte(stateOf(serial))}
}

func TestNothingRunsBesideWhatAPersonAskedFor(t *testing.T) {
	h := newHome(t)
	rec := h.byHand("r1", run.OperationState, move())
	h.held(rec)
	h.nothingFor("one")
	for what, try := range map[string]func() error{
		"a run of the stack's own":   func() error { return h.exec.Start(t.Context(), h.record("r2")) },
		"another that is asked for":  func() error { return h.exec.Hold(h.byHand("r3", run.OperationState, move())) },
		"the same, asked for twice":  func() error { return h.exec.Hold(rec) },
		"a shell, while that is on.": func() error { return h.exec.Hold(h.byHand("r4", run.OperationShell, nil)) },
	} {
		if err := try(); !errors.Is(err, run.ErrBusy) {
			t.Errorf("%s: %v", what, err)
		}
	}
	h.exec.LetGo(h.stack, "r1")
	if _, _, ok := h.exec.InHand(h.stack); ok {
		t.Error("the place was not given back")
	}
	h.endedOnce() // what waited for the place hears of it
	if _, err := h.exec.Record(t.Context(), h.stack, "r1"); !errors.Is(err, run.ErrNotFound) {
		t.Errorf("something of it stayed: %v", err)
	}
	h.begin(h.record("r5"))
	if err := h.exec.Hold(rec); !errors.Is(err, run.ErrBusy) {
		t.Errorf("beside a run in hand: %v", err)
	}
}

func TestAChangeThroughTheToolIsARunUnderTheLock(t *testing.T) {
	h := newHome(t)
	h.begun(h.byHand("r1", run.OperationState, move()))
	h.assigned("r1")
	h.mustDo(http.StatusNoContent, h.of("r1", "GET", "/state"))
	if got := h.goOn("r1"); !got.Go || h.holder() != "r1" {
		t.Fatalf("%+v, the lock is %q's", got, h.holder())
	}
	info, err := h.states.Holder(t.Context(), h.key())
	if err != nil || info.Who != "ann" || info.Operation != "state mv" {
		t.Errorf("the lock says %+v, %v", info, err)
	}
	h.ship(http.StatusNoContent, "r1", 1, stateOf(1))
	h.finish("r1", run.Result{Outcome: run.OutcomeFailed, Error: "wrong address", Finished: time.Now()})
	h.endedOnce()
	if rec := h.stored("r1"); h.holder() != "" || rec.By != "ann" || rec.StatesStored != 1 {
		t.Errorf("the lock is %q's, the record %+v", h.holder(), rec)
	}
}

func TestTheServerPushesAndGoesBackItself(t *testing.T) {
	h := newHome(t)
	rec := h.begun(h.byHand("r1", run.OperationState, push(3)))
	h.endedOnce()
	if rec.Result == nil || rec.Result.Outcome != run.OutcomeSucceeded || !rec.Result.ApplyStarted || !strings.Contains(rec.Result.Text, "serial 3") || h.holder() != "" {
		t.Fatalf("%+v, the lock is %q's", rec.Result, h.holder())
	}
	if stored := h.stored("r1"); stored.Spec.StateChange.State != nil {
		t.Error("the pushed state is in the record")
	}
	var first string
	for version, err := range h.states.Versions(t.Context(), h.key()) {
		if err != nil || version.RunID != "r1" || version.Reason != "pushed by ann" {
			t.Fatalf("%+v, %v", version, err)
		}
		first = version.ID
	}
	h.begun(h.byHand("r2", run.OperationState, push(7)))
	h.endedOnce()
	rec = h.begun(h.byHand("r3", run.OperationState, &run.StateChange{Verb: run.StateRollback, Args: []string{first}}))
	h.endedOnce()
	if rec.Result.Outcome != run.OutcomeSucceeded || !strings.Contains(rec.Result.Text, first) || !strings.Contains(rec.Result.Text, "serial 8") {
		t.Errorf("%+v", rec.Result)
	}
	var log strings.Builder
	if err := h.exec.WriteLog(t.Context(), h.stack, "r3", false, &log); err != nil || !strings.Contains(log.String(), "serial 8") {
		t.Errorf("the log: %q, %v", log.String(), err)
	}
}

func TestWhatTheServerRefusesToPush(t *testing.T) {
	h := newHome(t)
	h.begun(h.byHand("r1", run.OperationState, push(3)))
	h.endedOnce()
	rec := h.begun(h.byHand("r2", run.OperationState, push(2)))
	h.endedOnce()
	if r := rec.Result; r.Outcome != run.OutcomeFailed || r.ApplyStarted || !strings.Contains(r.Error, "is newer") || h.holder() != "" {
		t.Errorf("an older one: %+v", r)
	}
	if err := h.states.Lock(t.Context(), h.key(), state.LockInfo{ID: "somebody"}); err != nil {
		t.Fatal(err)
	}
	rec = h.begun(h.byHand("r3", run.OperationState, push(9)))
	if r := rec.Result; r.Class != run.FailureLocked || h.holder() != "somebody" {
		t.Errorf("a locked one: %+v, the lock is %q's", r, h.holder())
	}
}

func TestAServerThatDiesWhileItPushesGivesTheLockBack(t *testing.T) {
	h := newHome(t)
	// Its record and its lock are all that is left of it.
	rec := h.byHand("r1", run.OperationState, push(3))
	if err := h.exec.Prepare(t.Context(), rec.WithoutPushedState()); err != nil {
		t.Fatal(err)
	}
	if err := h.states.Lock(t.Context(), h.key(), state.LockInfo{ID: "r1"}); err != nil {
		t.Fatal(err)
	}
	h.start()
	taken, err := h.exec.Resume(t.Context(), h.stack, "r1")
	if err != nil || taken.Result == nil || taken.Result.Outcome != run.OutcomeInterrupted {
		t.Fatalf("%+v, %v", taken.Result, err)
	}
	h.endedOnce()
	if h.holder() != "" {
		t.Errorf("the lock is still %q's", h.holder())
	}
	h.nothingFor("one")
}

func TestAPushWhoseEndCannotBeRecordedIsRecordedLater(t *testing.T) {
	h := newHome(t)
	rec := h.byHand("r1", run.OperationState, push(3))
	h.held(rec)
	h.faults.set("unlock", true)
	if _, err := h.exec.Begin(t.Context(), rec); !errors.Is(err, errFault) {
		t.Fatalf("got %v", err)
	}
	if _, _, ok := h.exec.InHand(h.stack); !ok {
		t.Error("the run left the hand with its lock")
	}
	h.faults.set("unlock", false)
	select {
	case <-h.ended:
	case <-time.After(time.Minute):
		t.Fatal("it never ended")
	}
	if r := h.stored("r1").Result; r == nil || r.Outcome != run.OutcomeSucceeded || h.holder() != "" {
		t.Errorf("%+v, the lock is %q's", r, h.holder())
	}
}

func TestARunThatCannotBePutOnRecordIsLetGo(t *testing.T) {
	h := newHome(t)
	rec := h.byHand("r1", run.OperationState, move())
	h.held(rec)
	h.faults.set("put record.json", true)
	if _, err := h.exec.Begin(t.Context(), rec); !errors.Is(err, errFault) {
		t.Fatalf("got %v", err)
	}
	if _, _, ok := h.exec.InHand(h.stack); ok {
		t.Error("it is still in hand")
	}
}

// person holds the lock of a shell's process, as that does.
func (h *home) person(id string) *flock.Flock {
	h.t.Helper()
	lock := flock.New(filepath.Join(h.shells, run.ShellLock(id)))
	if ok, err := lock.TryLock(); err != nil || !ok {
		h.t.Fatal(ok, err)
	}
	return lock
}

func TestAShellIsNoRunnersWhileItsPersonIsThere(t *testing.T) {
	h := newHome(t)
	person := h.person("r1")
	h.begun(h.byHand("r1", run.OperationShell, nil))
	h.mustDo(http.StatusNoContent, h.of("r1", "GET", "/state"))
	if got := h.goOn("r1"); !got.Go || h.holder() != "r1" {
		t.Fatalf("%+v, the lock is %q's", got, h.holder())
	}
	h.nothingFor("one")
	h.nothingFor("another")
	h.ship(http.StatusNoContent, "r1", 1, stateOf(1))
	h.finish("r1", succeeded())
	h.endedOnce()
	if h.holder() != "" || h.stored("r1").Result.Outcome != run.OutcomeSucceeded {
		t.Errorf("the lock is %q's, the record %+v", h.holder(), h.stored("r1"))
	}
	if err := person.Unlock(); err != nil {
		t.Fatal(err)
	}
	h.nothingFor("one")
}

// When the person's process dies the kernel lets its file go, and the machine's runner gets the
// run. That holds after a new start of the server, too.
func TestAShellWhosePersonIsGoneIsTheRunners(t *testing.T) {
	for sentence, restart := range map[string]bool{"under the server that granted it": false, "under the next server": true} {
		t.Run(sentence, func(t *testing.T) {
			h := newHome(t)
			person := h.person("r1")
			h.begun(h.byHand("r1", run.OperationShell, nil))
			h.mustDo(http.StatusNoContent, h.of("r1", "GET", "/state"))
			h.goOn("r1")
			if restart {
				h.start()
				if _, err := h.exec.Resume(t.Context(), h.stack, "r1"); err != nil {
					t.Fatal(err)
				}
			}
			h.nothingFor("one")
			if err := person.Unlock(); err != nil {
				t.Fatal(err)
			}
			// This poll waits until there is something to hand out.
			h.assigned("r1")
			h.nothingFor("one", "r1")
			h.ship(http.StatusNoContent, "r1", 1, stateOf(1))
			h.finish("r1", run.Result{Outcome: run.OutcomeInterrupted, Finished: time.Now()})
			h.endedOnce()
			if h.holder() != "" {
				t.Errorf("the lock is still %q's", h.holder())
			}
		})
	}
}

func TestAShellThatNobodyComesToIsOver(t *testing.T) {
	h := newHome(t)
	h.patience = 50 * time.Millisecond
	h.start()
	h.begun(h.byHand("r1", run.OperationShell, nil))
	select {
	case <-h.ended:
	case <-time.After(time.Minute):
		t.Fatal("it never ended")
	}
	if r := h.stored("r1").Result; r.Outcome != run.OutcomeCanceled || !strings.Contains(r.Error, "no one connected") {
		t.Errorf("%+v", r)
	}
	if entries, err := os.ReadDir(h.shells); err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}
