// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

// A run's plan is one: what is kept, shown, judged, permitted and reported is of the same file.
func TestARunHasOnePlan(t *testing.T) {
	bytes := []byte("the plan")
	one, other := statefile.Digest(bytes), statefile.Digest([]byte("another"))
	shown := func(digest string) func(*home) int {
		return func(h *home) int {
			status, _ := h.do(h.of("r1", "PUT", "/show.json", []byte("{}")).with(run.HeaderPlanDigest, digest))
			return status
		}
	}
	kept := func(digest string) func(*home) int {
		return func(h *home) int {
			status, _ := h.do(h.of("r1", "PUT", "/plan", bytes).with(run.HeaderPlanDigest, digest))
			return status
		}
	}
	asked := func(digest string) func(*home) int {
		return func(h *home) int {
			answer := decoded[run.ContinueResponse](h, h.mustDo(http.StatusOK, h.of("r1", "POST", "/continue",
				run.ContinueRequest{Step: run.StepApply, State: run.NoState, Plan: &run.PlanResult{Changes: true, Digest: digest}})))
			if answer.Go {
				return http.StatusNoContent
			}
			if answer.Class != run.FailureStalePlan {
				h.t.Errorf("%+v", answer)
			}
			return http.StatusConflict
		}
	}
	reported := func(digest string) func(*home) int {
		return func(h *home) int {
			h.finish("r1", run.Result{Outcome: run.OutcomeSucceeded, Plan: &run.PlanResult{Changes: true, Digest: digest}})
			if result := h.stored("r1").Result; result.Outcome == run.OutcomeFailed && result.Class == run.FailureStalePlan {
				return http.StatusConflict
			}
			return http.StatusNoContent
		}
	}
	const fine, refused = http.StatusNoContent, http.StatusConflict
	for sentence, c := range map[string]struct {
		steps []func(*home) int
		want  int // of the last step; those before it are fine
	}{
		"all is of one":                            {[]func(*home) int{kept(one), shown(one), asked(one), reported(one)}, fine},
		"another was shown than was kept":          {[]func(*home) int{kept(one), shown(other)}, refused},
		"another is kept than was shown":           {[]func(*home) int{shown(other), kept(one)}, refused},
		"what is kept is not what it is called":    {[]func(*home) int{kept(other)}, refused},
		"another is to be applied than was shown":  {[]func(*home) int{shown(one), asked(other)}, refused},
		"another is reported than was shown":       {[]func(*home) int{shown(one), reported(other)}, refused},
		"another is reported than was permitted":   {[]func(*home) int{asked(one), reported(other)}, refused},
		"an older runner does not tell":            {[]func(*home) int{kept(""), shown(""), reported(one)}, fine},
		"an older runner reports another":          {[]func(*home) int{kept(""), reported(other)}, refused},
		"nothing was planned that could be shown":  {[]func(*home) int{asked(one), reported("")}, fine},
		"the same is shown again, as after a loss": {[]func(*home) int{shown(one), shown(one), reported(one)}, fine},
	} {
		t.Run(sentence, func(t *testing.T) {
			h := newHome(t)
			h.started(h.record("r1"))
			h.mustDo(http.StatusNoContent, h.of("r1", "GET", "/state"))
			for i, step := range c.steps {
				want := fine
				if i == len(c.steps)-1 {
					want = c.want
				}
				if got := step(h); got != want {
					t.Fatalf("step %d: %d, want %d", i+1, got, want)
				}
			}
		})
	}
}

func TestAPlanThatIsNotWhatItIsCalledIsNotKept(t *testing.T) {
	h := newHome(t)
	h.started(h.record("r1"))
	h.do(h.of("r1", "PUT", "/plan", []byte("the plan")).with(run.HeaderPlanDigest, statefile.Digest([]byte("another"))))
	if _, err := h.blobs.Get(t.Context(), h.stack.Key("r1", run.BlobPlan), 1<<10); err == nil {
		t.Error("it is")
	}
}

func TestAServerThatStartsAnewKnowsTheRunsPlan(t *testing.T) {
	h := newHome(t)
	h.started(h.record("r1"))
	h.mustDo(http.StatusNoContent, h.of("r1", "GET", "/state"))
	h.mustDo(http.StatusNoContent, h.of("r1", "PUT", "/show.json", []byte("{}")).with(run.HeaderPlanDigest, statefile.Digest([]byte("the plan"))))
	h.goOn("r1")
	h.start()
	if _, err := h.exec.Resume(t.Context(), h.stack, "r1"); err != nil {
		t.Fatal(err)
	}
	if status, _ := h.do(h.of("r1", "PUT", "/show.json", []byte("{}")).with(run.HeaderPlanDigest, statefile.Digest([]byte("another")))); status != http.StatusConflict {
		t.Errorf("another plan is shown: %d", status)
	}
}

// A move to another server checks which readable forms belong to the plan.
func TestTheRecordCoversTheFormsOfItsPlan(t *testing.T) {
	h := newHome(t)
	h.started(h.record("r1"))
	h.mustDo(http.StatusNoContent, h.of("r1", "GET", "/state"))
	digest := statefile.Digest([]byte("the plan"))
	for path, body := range map[string]string{"/plan": "the plan", "/plan.txt": "text", "/show.json": "{}"} {
		h.mustDo(http.StatusNoContent, h.of("r1", "PUT", path, []byte(body)).with(run.HeaderPlanDigest, digest))
	}
	h.finish("r1", run.Result{Outcome: run.OutcomeSucceeded, Plan: &run.PlanResult{Changes: true, Digest: digest}})
	sum := func(text string) string { return strings.TrimPrefix(statefile.Digest([]byte(text)), "sha256:") }
	want := map[string]string{run.BlobPlan: sum("the plan"), run.BlobPlanText: sum("text"), run.BlobPlanShow: sum("{}")}
	if diff := cmp.Diff(want, h.stored("r1").PlanSums); diff != "" {
		t.Errorf("sums (-want +got):\n%s", diff)
	}
}
