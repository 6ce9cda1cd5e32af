// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

func TestWhatHasBecomeOfAPlan(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	made := func(result run.Result) run.Record {
		result.Finished = noon
		return run.Record{Spec: run.Spec{ID: "r1", Artifact: run.Artifact{Revision: "main@sha1:1"}, Describe: true}, Result: &result}
	}
	apply := func(result *run.Result) []run.Record {
		if result != nil {
			result.Finished = noon.Add(time.Minute)
		}
		other := run.Record{Spec: run.Spec{ID: "r3", Plan: &run.PlanRef{ID: "plan-main-2", RunID: "r2"}}, Result: &run.Result{ApplyStarted: true, Applied: true}}
		return []run.Record{other, {Spec: run.Spec{ID: "r4", Plan: &run.PlanRef{ID: "plan-main-1", RunID: "r1"}}, Result: result}}
	}
	changes := &run.PlanResult{Changes: true}
	pending := infrav1.PlanStatus{Pending: "plan-main-1", RunID: "r1"}
	by := plan.Standing{ID: "plan-main-1", ApplyRun: "r4", ApplyEnded: noon.Add(time.Minute)}
	for sentence, test := range map[string]struct {
		status infrav1.PlanStatus
		change func(*infrav1.Terraform)
		made   run.Record
		runs   []run.Record
		state  plan.State
		want   plan.Standing
	}{
		"it waits":                          {status: pending, made: made(run.Result{Plan: changes}), state: plan.StatePending, want: plan.Standing{ID: "plan-main-1"}},
		"it waits again after a failed run": {status: pending, made: made(run.Result{Plan: changes}), runs: apply(&run.Result{}), state: plan.StatePending, want: plan.Standing{ID: "plan-main-1"}},
		"it is approved by name": {status: pending, change: func(t *infrav1.Terraform) { t.Spec.ApprovePlan = "plan-main-1" }, made: made(run.Result{Plan: changes}),
			state: plan.StateApproved, want: plan.Standing{ID: "plan-main-1"}},
		"it is rejected": {status: pending, change: func(t *infrav1.Terraform) {
			t.Annotations = map[string]string{infrav1.AnnotationRejected: "plan-main-1"}
		},
			made: made(run.Result{Plan: changes}), state: plan.StateRejected, want: plan.Standing{ID: "plan-main-1"}},
		"it is being applied":                 {made: made(run.Result{Plan: changes}), runs: apply(nil), state: plan.StateApproved, want: plan.Standing{ID: "plan-main-1", ApplyRun: "r4"}},
		"it was applied":                      {made: made(run.Result{Plan: changes}), runs: apply(&run.Result{ApplyStarted: true, Applied: true}), state: plan.StateApplied, want: by},
		"its apply failed":                    {made: made(run.Result{Plan: changes}), runs: apply(&run.Result{ApplyStarted: true}), state: plan.StateApplyFailed, want: by},
		"its apply never began":               {made: made(run.Result{Plan: changes}), runs: apply(&run.Result{}), state: plan.StateSuperseded},
		"another took its place":              {status: infrav1.PlanStatus{Pending: "plan-main-2", RunID: "r2"}, made: made(run.Result{Plan: changes}), state: plan.StateSuperseded},
		"a webhook refused it":                {made: made(run.Result{Plan: changes, Class: run.FailureRefused}), state: plan.StateRefused},
		"it found nothing":                    {made: made(run.Result{Plan: &run.PlanResult{}}), state: plan.StateUnchanged},
		"the run that made it applied it too": {made: made(run.Result{Plan: changes, ApplyStarted: true, Applied: true}), state: plan.StateApplied, want: plan.Standing{ApplyRun: "r1", ApplyEnded: noon}},
	} {
		t.Run(sentence, func(t *testing.T) {
			obj := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Name: "vpc"}, Status: infrav1.TerraformStatus{Plan: test.status}}
			if test.change != nil {
				test.change(obj)
			}
			test.want.State, test.want.Run, test.want.Revision, test.want.Made = test.state, "r1", "main@sha1:1", noon
			if diff := cmp.Diff(test.want, standing(obj, test.made, test.runs)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
