// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/runs/executor"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

// reviewed asks for the review of a run's plan.
func (h *home) reviewed(id string) run.ContinueResponse {
	h.t.Helper()
	return decoded[run.ContinueResponse](h, h.mustDo(http.StatusOK, h.of(id, "POST", "/continue",
		run.ContinueRequest{Step: run.StepPlan, Plan: &run.PlanResult{Changes: true}})))
}

func (h *home) reviewedBy(review func(context.Context) (executor.Permission, error)) *home {
	h.review = review
	h.start()
	return h
}

func TestWhatAReviewAnswers(t *testing.T) {
	for sentence, test := range map[string]struct {
		review func(context.Context) (executor.Permission, error)
		want   run.ContinueResponse
	}{
		"the plan passes": {func(context.Context) (executor.Permission, error) { return executor.Permission{Go: true}, nil }, run.ContinueResponse{Go: true}},
		"the plan is refused": {func(context.Context) (executor.Permission, error) {
			return executor.Permission{Reason: "too expensive"}, nil
		}, run.ContinueResponse{Outcome: run.OutcomeFailed, Class: run.FailureRefused, Reason: "too expensive"}},
		"nobody is there to be asked: no plan passes": {nil,
			run.ContinueResponse{Outcome: run.OutcomeFailed, Class: run.FailureRefused, Reason: "this server reviews no plans"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			h := newHome(t).reviewedBy(test.review)
			h.started(h.record("r1"))
			if diff := cmp.Diff(test.want, h.reviewed("r1")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if h.holder() != "" {
				t.Errorf("a review takes no lock; %q has it", h.holder())
			}
		})
	}
}

// The record says until when a configuration is refused, for who reads it after a restart, too.
func TestARefusalAfterInitHasAnEnd(t *testing.T) {
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	h := newHome(t)
	h.inspect = func(context.Context, run.Record, *run.Installed) (executor.Permission, error) {
		return executor.Permission{Reason: "the change window is closed", Until: until}, nil
	}
	h.start()
	h.started(h.record("r1"))
	got := decoded[run.ContinueResponse](h, h.mustDo(http.StatusOK, h.of("r1", "POST", "/continue", run.ContinueRequest{Step: run.StepInit, Installed: &run.Installed{}})))
	want := run.ContinueResponse{Outcome: run.OutcomeFailed, Class: run.FailurePolicy, Reason: "the change window is closed"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	h.finish("r1", run.Result{Outcome: run.OutcomeFailed, Class: run.FailurePolicy, Error: got.Reason})
	h.start()
	if got := h.stored("r1").RefusedUntil; !got.Equal(until) {
		t.Errorf("refused until %s, want %s", got, until)
	}
}

func TestAPlanIsReviewedOnce(t *testing.T) {
	var asked atomic.Int32
	begun, open := make(chan struct{}), make(chan struct{})
	h := newHome(t).reviewedBy(func(context.Context) (executor.Permission, error) {
		asked.Add(1)
		close(begun)
		<-open
		return executor.Permission{Go: true}, nil
	})
	h.started(h.record("r1"))
	var both sync.WaitGroup
	both.Go(func() { h.do(h.of("r1", "POST", "/continue", run.ContinueRequest{Step: run.StepPlan})) })
	<-begun
	both.Go(func() { h.do(h.of("r1", "POST", "/continue", run.ContinueRequest{Step: run.StepPlan})) })
	// Nobody else is kept waiting by a review.
	if rec, _, ok := h.exec.InHand(h.stack); !ok || rec.Spec.ID != "r1" {
		t.Errorf("in hand: %v %+v", ok, rec)
	}
	close(open)
	both.Wait()
	if !h.reviewed("r1").Go || asked.Load() != 1 {
		t.Errorf("asked %d times", asked.Load())
	}
}

func TestAReviewThatNobodyAnsweredIsAskedAgain(t *testing.T) {
	var asked atomic.Int32
	h := newHome(t).reviewedBy(func(context.Context) (executor.Permission, error) {
		if asked.Add(1) == 1 {
			return executor.Permission{}, errFault
		}
		return executor.Permission{Go: true}, nil
	})
	h.started(h.record("r1"))
	h.mustDo(http.StatusServiceUnavailable, h.of("r1", "POST", "/continue", run.ContinueRequest{Step: run.StepPlan}))
	if !h.reviewed("r1").Go {
		t.Error("not asked again")
	}
}

func TestPlansAreKeptInEveryForm(t *testing.T) {
	h := newHome(t)
	h.started(h.record("r1"))
	for part, blob := range map[string]string{"/plan.txt": run.BlobPlanText, "/show.json": run.BlobPlanShow} {
		h.mustDo(http.StatusNoContent, h.of("r1", "PUT", part, []byte("of "+part)))
		data, err := h.exec.ReadPart(t.Context(), h.stack, "r1", blob)
		if err != nil || string(data) != "of "+part {
			t.Errorf("%s: %q, %v", part, data, err)
		}
	}
}

func TestAResultWhoseStateIsNotStoredIsNoSuccess(t *testing.T) {
	digestOf := func(serial int) string { return statefile.Digest([]byte(stateOf(serial))) }
	for sentence, test := range map[string]struct {
		anew   bool // the server starts anew before the result
		result run.Result
		want   run.Outcome
	}{
		"the last state is stored":                       {false, run.Result{Outcome: run.OutcomeSucceeded, Applied: true, ApplyStarted: true, StateDigest: digestOf(2)}, run.OutcomeSucceeded},
		"the last state was stored by an earlier server": {true, run.Result{Outcome: run.OutcomeSucceeded, Applied: true, ApplyStarted: true, StateDigest: digestOf(2)}, run.OutcomeSucceeded},
		"another state is stored":                        {false, run.Result{Outcome: run.OutcomeSucceeded, Applied: true, ApplyStarted: true, StateDigest: digestOf(3)}, run.OutcomeFailed},
		"an earlier server stored another one":           {true, run.Result{Outcome: run.OutcomeSucceeded, Applied: true, ApplyStarted: true, StateDigest: digestOf(3)}, run.OutcomeFailed},
		"the run says itself that its state was refused": {false, run.Result{Outcome: run.OutcomeFailed, Class: run.FailureState, Error: "refused", ApplyStarted: true, StateDigest: digestOf(3)}, run.OutcomeFailed},
	} {
		t.Run(sentence, func(t *testing.T) {
			h := newHome(t)
			h.applying(h.record("r1"))
			h.ship(http.StatusNoContent, "r1", 1, stateOf(1))
			h.ship(http.StatusNoContent, "r1", 2, stateOf(2))
			if test.anew {
				h.start()
				if _, err := h.exec.Resume(t.Context(), h.stack, "r1"); err != nil {
					t.Fatal(err)
				}
			}
			h.finish("r1", test.result)
			got := h.stored("r1").Result
			if got.Outcome != test.want || (test.want == run.OutcomeFailed) != (got.Class == run.FailureState) {
				t.Errorf("%+v", got)
			}
			if missing := strings.Contains(got.Error, "is not stored"); missing != (test.want == run.OutcomeFailed && test.result.Class == "") {
				t.Errorf("error %q", got.Error)
			}
			if h.holder() != "" {
				t.Errorf("still locked by %q", h.holder())
			}
		})
	}
}
