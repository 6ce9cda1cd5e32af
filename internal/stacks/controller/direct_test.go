// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

func TestDirectRuns(t *testing.T) {
	first := run.Spec{Operation: run.OperationPlanAndApply, Purpose: run.PurposeDeploy, Backend: run.Backend{Kind: run.BackendManaged}}
	for sentence, test := range map[string]struct {
		obj  func(*infrav1.Terraform)
		spec func(*run.Spec)
		want bool
	}{
		"the first apply of a stack":       {want: true},
		"it was applied before":            {obj: func(t *infrav1.Terraform) { t.Status.LastAppliedRevision = revision }},
		"an apply began before":            {obj: func(t *infrav1.Terraform) { t.Status.LastAppliedRun = "earlier" }},
		"the run only plans":               {spec: func(s *run.Spec) { s.Operation = run.OperationPlan }},
		"the plan is described":            {spec: func(s *run.Spec) { s.Describe = true }},
		"the plan is reviewed":             {spec: func(s *run.Spec) { s.Review = true }},
		"the run destroys":                 {spec: func(s *run.Spec) { s.Destroy = true }},
		"a drift check":                    {spec: func(s *run.Spec) { s.Purpose = run.PurposeDrift }},
		"the state is in a custom backend": {spec: func(s *run.Spec) { s.Backend.Kind = run.BackendOwn }},
	} {
		t.Run(sentence, func(t *testing.T) {
			obj, spec := stackObject(), first
			if test.obj != nil {
				test.obj(obj)
			}
			if test.spec != nil {
				test.spec(&spec)
			}
			if got := direct(obj, &spec); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

// The server announces an apply before its plan, and withdraws that if it has nothing to do.
func TestDirectApplyThatDidNotBegin(t *testing.T) {
	for sentence, result := range map[string]run.Result{
		"the plan failed":         {Outcome: run.OutcomeFailed, FailedStep: run.StepPlan, Error: "Error: no"},
		"the plan has no changes": {Outcome: run.OutcomeSucceeded, Plan: &run.PlanResult{}},
		"the run was canceled":    {Outcome: run.OutcomeCanceled},
	} {
		t.Run(sentence, func(t *testing.T) {
			obj := stackObject()
			o := ran(run.OperationPlanAndApply, result)
			o.rec.Spec.Direct = true
			describeApply(obj, o.rec)
			if conditions.Of(obj, infrav1.ConditionApply).Status != metav1.ConditionUnknown {
				t.Fatal("the start of the apply is not reported")
			}
			record(obj, o)
			if c := conditions.Of(obj, infrav1.ConditionApply); c.Type != "" {
				t.Errorf("%+v", c)
			}
		})
	}
}

// A direct apply is planning until it has begun to change something.
func TestDirectApplyIsReportedOnceItHasBegun(t *testing.T) {
	obj := stackObject(func(t *infrav1.Terraform) { t.Status.CurrentRun = &infrav1.RunReference{ID: "run-1", Status: "queued"} })
	rec := run.Record{Permitted: true, Planning: true, Spec: run.Spec{ID: "run-1", Operation: run.OperationPlanAndApply, Direct: true}}
	p := passOver(obj)
	p.inHand = &rec
	describeAwaited(&p.gathered)
	if c := conditions.Of(obj, infrav1.ConditionApply); c.Type != "" || obj.Status.CurrentRun.Status != "queued" || currentFacts(rec, false).Apply {
		t.Errorf("while it plans: %+v, %+v", c, obj.Status.CurrentRun)
	}
	rec.Planning = false
	describeAwaited(&p.gathered)
	if c := conditions.Of(obj, infrav1.ConditionApply); c.Status != metav1.ConditionUnknown || obj.Status.CurrentRun.Status != "applying" || !currentFacts(rec, false).Apply {
		t.Errorf("once it has begun: %+v, %+v", c, obj.Status.CurrentRun)
	}
}
