// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

func TestRunsAreHandedOutInOrderAndAsManyAsAreWanted(t *testing.T) {
	h := newHome(t)
	for _, id := range []string{"a", "b", "c"} {
		h.stack.Name = "stack-" + id
		h.begin(h.record(id))
	}
	ids := func(capacity int, active ...string) []string {
		var ids []string
		for _, a := range h.poll("one", capacity, append(active, ghost)...).Runs {
			ids = append(ids, a.ID)
		}
		return ids
	}
	for _, step := range []struct {
		capacity int
		active   []string
		want     []string
	}{{0, nil, nil}, {2, nil, []string{"a", "b"}}, {4, []string{"a", "b"}, []string{"c"}}, {4, []string{"a", "b", "c"}, nil}} {
		if diff := cmp.Diff(step.want, ids(step.capacity, step.active...)); diff != "" {
			t.Errorf("capacity %d (-want +got):\n%s", step.capacity, diff)
		}
	}
	if inHand, waiting := h.exec.Busy(); inHand != 3 || waiting != 0 {
		t.Errorf("%d in hand, %d waiting", inHand, waiting)
	}
}

func TestAPollIsHeldUntilThereIsWork(t *testing.T) {
	h := newHome(t)
	got := make(chan run.PollResponse)
	go func() { got <- h.poll("one", 1) }() // in either order
	h.begin(h.record("r1"))
	if answer := <-got; len(answer.Runs) != 1 {
		t.Errorf("answered %+v", answer)
	}
}

func TestARunComesWithAllThatItsRunnerNeeds(t *testing.T) {
	h := newHome(t)
	rec := h.record("r1")
	h.begin(rec)
	got := h.poll("one", 1)
	if diff := cmp.Diff([]run.Assignment{{ID: "r1", Token: rec.Token, Spec: &rec.Spec}}, got.Runs); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	if now, _, _ := h.exec.InHand(h.stack); now.Started != nil {
		t.Error("it has begun before its runner has said a word")
	}
	h.mustDo(http.StatusNoContent, h.of("r1", "GET", "/state"))
	if now, _, _ := h.exec.InHand(h.stack); now.Started == nil || now.Runner != "one" {
		t.Errorf("begun at %v by %q", now.Started, now.Runner)
	}
	h.nothingFor("two")
	if got := h.stored("r1").Result; got == nil || got.Outcome != run.OutcomeInterrupted {
		t.Errorf("its runner is gone: %+v", got)
	}
}

func TestARunnerIsNotToldOfWhatItEndedItself(t *testing.T) {
	h := newHome(t)
	h.started(h.record("r1"))
	h.stack.Name = "lost"
	h.started(h.record("lost"))
	answered := make(chan run.PollResponse)
	go func() { answered <- h.poll("one", 1, "r1") }()
	<-h.ended // the poll has arrived: the run that it does not name is over
	h.finish("r1", succeeded())
	h.stack.Name = "other"
	h.begin(h.record("r2"))
	if got := <-answered; len(got.Runs) != 1 {
		t.Errorf("answered %+v", got)
	}
}

func TestARunWhoseAssignmentWasLostIsHandedOutAgain(t *testing.T) {
	h := newHome(t)
	h.begin(h.record("r1"))
	h.assigned("r1")
	h.assigned("r1") // the runner does not name it, so it never heard of it
	h.mustDo(http.StatusOK, h.of("r1", "GET", ""))
	h.nothingFor("one", "r1")
}

// Readers of a run must not make it look begun.
func TestARunIsNotTakenForBegunBecauseSomebodyReadsItsRecord(t *testing.T) {
	h := newHome(t)
	h.begin(h.record("r1"))
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				h.exec.InHand(h.stack)
			}
		}
	}()
	for range 50 {
		h.assigned("r1")
	}
	close(stop)
	<-stopped
}

func TestAStackHasOneRunInHand(t *testing.T) {
	h := newHome(t)
	h.begin(h.record("r1"))
	if err := h.exec.Start(t.Context(), h.record("r1")); err != nil {
		t.Errorf("the same run again: %v", err)
	}
	if err := h.exec.Start(t.Context(), h.record("r2")); !errors.Is(err, run.ErrBusy) || !strings.Contains(err.Error(), "r1") {
		t.Errorf("another run: %v", err)
	}
}

func TestAWaitingRunIsCanceledAtOnce(t *testing.T) {
	h := newHome(t)
	h.begin(h.record("r1"))
	if err := h.exec.Cancel(t.Context(), "r1"); err != nil {
		t.Fatal(err)
	}
	h.endedOnce()
	if got := h.stored("r1").Result; got == nil || got.Outcome != run.OutcomeCanceled {
		t.Errorf("result %+v", got)
	}
	h.nothingFor("one")
}

func TestACancelThatCannotBeRecordedIsTriedAgain(t *testing.T) {
	h := newHome(t)
	h.begin(h.record("r1"))
	h.faults.set("put record.json", true)
	if err := h.exec.Cancel(t.Context(), "r1"); !errors.Is(err, errFault) {
		t.Fatalf("cancel: %v", err)
	}
	if _, canceled, ok := h.exec.InHand(h.stack); canceled || !ok {
		t.Errorf("in hand %v, canceled %v", ok, canceled)
	}
	h.faults.set("put record.json", false)
	if err := h.exec.Cancel(t.Context(), "r1"); err != nil {
		t.Fatal(err)
	}
	h.endedOnce()
}

func TestARunAtWorkIsToldToStop(t *testing.T) {
	h := newHome(t)
	h.started(h.record("r1"))
	if err := h.exec.Cancel(t.Context(), "r1"); err != nil {
		t.Fatal(err)
	}
	h.mustDo(http.StatusNoContent, h.of("r1", "GET", "/state"))
	if got := h.poll("one", 1, "r1"); !cmp.Equal(got.Cancel, []string{"r1"}) {
		t.Errorf("answered %+v", got)
	}
	if answer := h.goOn("r1"); answer.Go || answer.Outcome != run.OutcomeCanceled {
		t.Errorf("a canceled run may go on: %+v", answer)
	}
	if _, canceled, _ := h.exec.InHand(h.stack); !canceled {
		t.Error("the run is not told as canceled")
	}
	if err := h.exec.Cancel(t.Context(), "never"); err != nil {
		t.Errorf("a run that never was: %v", err)
	}
}

func TestAnApplyThatBeganIsNotStopped(t *testing.T) {
	h := newHome(t)
	h.started(h.record("r1"))
	h.mustDo(http.StatusNoContent, h.of("r1", "GET", "/state"))
	if answer := h.goOn("r1"); !answer.Go {
		t.Fatalf("answered %+v", answer)
	}
	if err := h.exec.Cancel(t.Context(), "r1"); err != nil {
		t.Fatal(err)
	}
	if got := h.poll("one", 1, "r1", ghost); len(got.Cancel) != 0 {
		t.Errorf("told to cancel %v", got.Cancel)
	}
}

func TestWhatNobodyKnowsIsForgottenAndWhatIsGoneRemoved(t *testing.T) {
	h := newHome(t)
	h.exec.Forget(h.stack)
	got := h.poll("one", 1, ghost)
	if diff := cmp.Diff(run.PollResponse{Forget: []string{ghost}, Remove: []run.Stack{h.stack}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := h.poll("one", 1, ghost); len(got.Remove) != 1 {
		t.Errorf("the answer may have been lost, and it is not given again: %+v", got)
	}
	heard := run.PollRequest{Runner: "one", Active: []string{ghost}, Removed: got.Remove}
	if got := h.pollWith(heard); len(got.Remove) != 0 {
		t.Errorf("told again: %+v", got)
	}
}

func TestOfManyThatAreGoneSomeAreToldAtATime(t *testing.T) {
	h := newHome(t)
	const all = 1200
	for i := range all {
		h.exec.Forget(run.Stack{Namespace: "team", Name: fmt.Sprint("stack", i), UID: "1"})
	}
	told, last := 0, run.PollResponse{}
	for range 3 {
		last = h.pollWith(run.PollRequest{Runner: "one", Active: []string{ghost}, Removed: last.Remove})
		if told += len(last.Remove); len(last.Remove) > 500 {
			t.Fatalf("told of %d at a time", len(last.Remove))
		}
	}
	if told != all {
		t.Errorf("told of %d, want %d", told, all)
	}
}

func TestARunnerThatIsNotOfThisServersBuildIsLetGo(t *testing.T) {
	h := newHome(t)
	h.begin(h.record("r1"))
	h.backend.starts("new")
	for sentence, test := range map[string]struct {
		build       string
		drain, runs bool
	}{
		"of a version that knows no marks":       {"", true, false},
		"of other options":                       {"old", true, false},
		"the very one that would be started now": {"new", false, true},
	} {
		got := h.pollWith(run.PollRequest{Runner: "runner-" + test.build, Build: test.build, Capacity: 1, Active: []string{ghost}})
		if got.Drain != test.drain || len(got.Runs) > 0 != test.runs {
			t.Errorf("%s: answered %+v", sentence, got)
		}
	}
	told := h.exec.Drain()
	select {
	case <-told:
		t.Error("a runner that was let go counts as told of the server's end")
	default:
	}
}

func TestARunnerThatAnEarlierServerLetGoIsToldAtOnceThatItStays(t *testing.T) {
	h := newHome(t)
	if got := h.pollWith(run.PollRequest{Runner: "one", Draining: true}); got.Drain {
		t.Errorf("answered %+v", got)
	}
}

func TestADrainingServerHandsOutNothing(t *testing.T) {
	h := newHome(t)
	h.begin(h.record("r1"))
	told := h.exec.Drain()
	select {
	case <-told:
		t.Error("nobody was told yet")
	default:
	}
	if got := h.poll("one", 1); !got.Drain || len(got.Runs) != 0 {
		t.Errorf("answered %+v", got)
	}
	<-told
}
