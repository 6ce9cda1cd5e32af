// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

func TestAnApplyDoesNotBeginWhoseStateHasNoRoom(t *testing.T) {
	h := newHome(t)
	apitest.FullOfSecrets(t, h.stack.Namespace)
	h.started(h.record("r1"))
	h.mustDo(http.StatusNoContent, h.of("r1", "GET", "/state"))
	answer := h.goOn("r1")
	if answer.Go || answer.Outcome != run.OutcomeFailed || answer.Class != run.FailureState || !strings.Contains(answer.Reason, "exceeded quota") {
		t.Fatalf("answered %+v", answer)
	}
	h.finish("r1", run.Result{Outcome: answer.Outcome, Class: answer.Class, Error: answer.Reason})
	if holder := h.holder(); holder != "" {
		t.Errorf("the lock is held by %q", holder)
	}
}

// Two first applies may have seen the same last place.
func TestARunWhoseStateIsRefusedSaysSo(t *testing.T) {
	h := newHome(t)
	h.applying(h.record("r1"))
	for len(h.ended) > 0 {
		<-h.ended
	}
	waits := func() string {
		rec, _, _ := h.exec.InHand(h.stack)
		return rec.Waits
	}
	lift := apitest.FullOfSecrets(t, h.stack.Namespace)
	put := h.of("r1", "PUT", "/state", []byte(stateOf(1))).with(run.HeaderSequence, "1")
	for range 2 {
		problem := decoded[run.Problem](h, h.mustDo(http.StatusServiceUnavailable, put))
		if problem.Class != run.FailureState {
			t.Errorf("the runner hears %+v", problem)
		}
	}
	if got := waits(); !strings.HasPrefix(got, run.WaitsForState) || !strings.Contains(got, "exceeded quota") {
		t.Errorf("the run waits for %q", got)
	}
	h.endedOnce()
	lift()
	h.mustDo(http.StatusNoContent, put)
	if got := waits(); got != "" {
		t.Errorf("its state is stored, and it waits for %q", got)
	}
	h.endedOnce()
	if now, err := h.states.Read(t.Context(), h.key()); err != nil || string(now.Data) != stateOf(1) {
		t.Errorf("%v %v", now, err)
	}
}
