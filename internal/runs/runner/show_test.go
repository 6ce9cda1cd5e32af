// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fetch"
)

const secretive = `
variable "given" {}
variable "declared" { sensitive = true }
resource "terraform_data" "a" { input = { given = var.given, declared = var.declared, open = "in the open" } }
output "id" { value = "constant" }
`

// secretRun plans a program with one secret that the run knows and one that only the program knows.
func (b *bench) secretRun(name string, operation run.Operation) *fakeRun {
	r := b.stack(name, operation, program(secretive))
	r.spec.Describe, r.spec.PlanText, r.spec.PlanDocument = true, true, true
	r.spec.Variables = map[string]run.Variable{"given": {Value: []byte(`"given-secret"`), Secret: true},
		"declared": {Value: []byte(`"declared-secret"`)}}
	return r
}

func TestThePlanIsShippedAsTheToolPrintsIt(t *testing.T) {
	b := newBench(t).start()
	first := b.secretRun("printed", run.OperationPlan)
	b.succeed(first)
	for name, shipped := range map[string][]byte{"text": first.planText, "document": first.planShow, "plan": first.planJSON} {
		for _, secret := range []string{"given-secret", "declared-secret"} {
			if bytes.Contains(shipped, []byte(secret)) {
				t.Errorf("the %s shows %s:\n%s", name, secret, shipped)
			}
		}
	}
	if text := string(first.planText); !strings.Contains(text, "# terraform_data.a will be created") || !strings.Contains(text, "in the open") ||
		!strings.Contains(text, "Plan: 1 to add, 0 to change, 0 to destroy.") || strings.Contains(text, "\x1b") {
		t.Errorf("the text is %s", text)
	}
	var document struct {
		FormatVersion string `json:"format_version"`
		Changes       []struct {
			Address string `json:"address"`
			Change  struct {
				Actions []string       `json:"actions"`
				After   map[string]any `json:"after"`
			} `json:"change"`
		} `json:"resource_changes"`
	}
	if err := json.Unmarshal(first.planShow, &document); err != nil || document.FormatVersion == "" || len(document.Changes) != 1 {
		t.Fatalf("%v: %s", err, first.planShow)
	}
	want := map[string]any{"input": map[string]any{"given": "(sensitive value)", "declared": "(sensitive value)", "open": "in the open"}, "triggers_replace": nil}
	if diff := cmp.Diff(want, document.Changes[0].Change.After); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAPlanWithoutChangesIsShippedUnlessItOnlyLookedAtTheWorld(t *testing.T) {
	b := newBench(t).start()
	first := b.secretRun("same", run.OperationPlanAndApply)
	b.succeed(first)
	again := first.again(run.OperationPlanAndApply)
	b.succeed(again)
	if !strings.Contains(string(again.planText), "No changes.") || len(again.planShow) == 0 {
		t.Errorf("text %q, document of %d bytes", again.planText, len(again.planShow))
	}
	look := first.again(run.OperationPlanAndApply)
	look.spec.Purpose = run.PurposeDrift
	b.succeed(look)
	if len(look.planText)+len(look.planShow)+len(look.planJSON) > 0 || slices.Contains(stepsOf(look.result), run.StepShow) {
		t.Errorf("steps %v, shipped %q", stepsOf(look.result), look.requests)
	}
}

func stepsOf(result *run.Result) []run.Step {
	var steps []run.Step
	for _, s := range result.Steps {
		steps = append(steps, s.Step)
	}
	return steps
}

func TestARefusedPlanIsNeitherKeptNorApplied(t *testing.T) {
	b := newBench(t).start()
	for _, operation := range []run.Operation{run.OperationPlan, run.OperationPlanAndApply} {
		r := b.stack("refused-"+string(operation), operation, program(twoThings))
		r.spec.Describe, r.spec.Review = true, true
		r.review = run.ContinueResponse{Outcome: run.OutcomeFailed, Class: run.FailureRefused, Reason: "too expensive"}
		result := b.do(r)
		if result.Outcome != run.OutcomeFailed || result.Class != run.FailureRefused || result.FailedStep != run.StepPlan || result.Error != "too expensive" ||
			result.ApplyStarted || result.Plan == nil || !result.Plan.Changes {
			t.Errorf("%s: %+v", operation, result)
		}
		if len(r.savedPlan) > 0 || len(r.asked) != 1 || r.asked[0].Step != run.StepPlan || r.asked[0].Plan.ChangesDigest == "" {
			t.Errorf("%s: asked %+v, kept a plan of %d bytes", operation, r.asked, len(r.savedPlan))
		}
		passed := r.again(operation)
		passed.spec.Describe, passed.review = true, run.ContinueResponse{Go: true}
		if result := b.succeed(passed); result.Applied != (operation == run.OperationPlanAndApply) || (len(passed.savedPlan) > 0) != (operation == run.OperationPlan) {
			t.Errorf("%s: %+v", operation, result)
		}
		kept := slices.Index(passed.requests, "PUT plan")
		if operation == run.OperationPlan && kept < slices.Index(passed.requests, "POST continue") {
			t.Errorf("kept before it was reviewed: %v", passed.requests)
		}
	}
}

func TestNobodyWaitsForTheReviewOfAnothersPlan(t *testing.T) {
	b := newBench(t)
	b.opts.Capacity = 1
	b.start()
	var slow []*fakeRun
	for _, name := range []string{"slow", "slower"} {
		r := b.stack(name, run.OperationPlanAndApply, program(twoThings))
		r.spec.Describe, r.spec.Review, r.reviewing, r.review = true, true, true, run.ContinueResponse{Go: true}
		slow = append(slow, b.server.submit(r))
	}
	for _, r := range slow {
		b.server.wait(r, "the review", func() bool { return len(r.asked) > 0 })
	}
	b.succeed(b.stack("other", run.OperationPlanAndApply, program(twoThings)))
	b.server.mu.Lock()
	for _, r := range slow {
		r.reviewing = false
	}
	b.server.mu.Unlock()
	for _, r := range slow {
		if result := b.server.finished(r); !result.Applied {
			t.Errorf("%s: %+v", r.spec.Stack.Name, result)
		}
	}
}

func TestOnlyPlansWithChangesAreReviewed(t *testing.T) {
	b := newBench(t).start()
	first := b.stack("unreviewed", run.OperationPlanAndApply, program(twoThings))
	b.succeed(first)
	again := first.again(run.OperationPlanAndApply)
	again.spec.Describe, again.spec.Review = true, true
	b.succeed(again)
	if len(again.asked) > 0 {
		t.Errorf("asked %+v", again.asked)
	}
}

const nested = `
module "m" { source = "./m" }
resource "terraform_data" "b" {}
data "terraform_remote_state" "no" {
  count = 0
  backend = "local"
}
`

func TestResourcesAndOutputsAreReadBack(t *testing.T) {
	b := newBench(t).start()
	files := program(nested)
	files["m/main.tf"] = "resource \"terraform_data\" \"inner\" { count = 2 }\noutput \"o\" { value = 1 }\n"
	files["outputs.tf"] = "output \"o\" { value = module.m.o }\n"
	first := b.stack("inventory", run.OperationPlanAndApply, files)
	first.spec.ReadOutputs, first.spec.ReadResources = true, true
	check := func(result *run.Result) {
		t.Helper()
		var names []string
		for _, r := range result.Resources {
			if r.Type != "terraform_data" || len(r.ID) != 36 {
				t.Errorf("%+v", r)
			}
			names = append(names, r.Name)
		}
		if diff := cmp.Diff([]string{"b", "inner", "inner"}, names); diff != "" {
			t.Error(diff)
		}
		if !strings.Contains(string(result.Outputs), `"o"`) {
			t.Errorf("outputs %s", result.Outputs)
		}
	}
	check(b.succeed(first))
	again := first.again(run.OperationPlan)
	if result := b.succeed(again); result.Resources != nil || result.Outputs != nil {
		t.Errorf("read without a change or request: %+v", result)
	}
	asked := first.again(run.OperationPlan)
	asked.spec.ReadUnchanged = true
	check(b.succeed(asked))
}

func TestOutputOverTheLimitIsDroppedAndTheToolGoesOn(t *testing.T) {
	for text, want := range map[string]string{"": "", "abc": "abc", "abcde": "abcde", "abcdef": "abcde", strings.Repeat("x", 1<<20): "xxxxx"} {
		b := &fetch.Bounded{Limit: 5}
		n, err := io.Copy(b, strings.NewReader(text)) // as a process's output is copied
		if n != int64(len(text)) || err != nil || string(b.Bytes()) != want || b.Over != (len(text) > 5) {
			t.Errorf("%d bytes: %q, over: %v (%d, %v)", len(text), b.Bytes(), b.Over, n, err)
		}
	}
}

// The runner takes a document completely or not at all.
func TestADocumentOverTheLimitFailsTheRun(t *testing.T) {
	b := newBench(t).start()
	r := b.stack("long", run.OperationPlan, program(`resource "terraform_data" "a" { input = join("", [for i in range(1000) : "01234567890123456789012345678901234567890123456789"]) }`))
	r.spec.Describe, r.spec.Limits.PlanBytes = true, 10_000
	if result := b.do(r); result.Class != run.FailureLimit || result.FailedStep != run.StepShow {
		t.Errorf("%+v", result)
	}
}
