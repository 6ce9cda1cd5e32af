// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

func TestPermit(t *testing.T) {
	approved := func(t *infrav1.Terraform) { planPending(t); t.Spec.ApprovePlan = planID }
	auto := func(t *infrav1.Terraform) { t.Spec.ApprovePlan = infrav1.ApprovePlanAuto }
	suspended := func(t *infrav1.Terraform) { t.Spec.Suspend = true }
	deleted := func(t *infrav1.Terraform) { now := metav1.Now(); t.DeletionTimestamp = &now }
	destroying := func(t *infrav1.Terraform) { t.Spec.DestroyResourcesOnDeletion = true }
	toDelete := func(r *run.Record) { r.Spec.Purpose = run.PurposeDelete }
	for sentence, test := range map[string]struct {
		obj  []func(*infrav1.Terraform)
		op   run.Operation
		rec  func(*run.Record)
		want string
	}{
		"approved by its id":          {[]func(*infrav1.Terraform){approved}, run.OperationApply, nil, ""},
		"approved by mode auto":       {[]func(*infrav1.Terraform){auto}, run.OperationPlanAndApply, nil, ""},
		"forced":                      {[]func(*infrav1.Terraform){func(t *infrav1.Terraform) { t.Spec.Force = true }}, run.OperationPlanAndApply, nil, ""},
		"the approval was withdrawn":  {[]func(*infrav1.Terraform){planPending}, run.OperationApply, nil, "its approval was withdrawn"},
		"another plan is pending now": {[]func(*infrav1.Terraform){approved, func(t *infrav1.Terraform) { t.Status.Plan.Pending = "other" }}, run.OperationApply, nil, "its approval was withdrawn"},
		"mode auto was switched off":  {nil, run.OperationPlanAndApply, nil, "its approval was withdrawn"},
		"an id does not approve a run that makes its own plan": {[]func(*infrav1.Terraform){approved}, run.OperationPlanAndApply, nil, "its approval was withdrawn"},
		"suspended": {[]func(*infrav1.Terraform){auto, suspended}, run.OperationPlanAndApply, nil, "the stack was suspended"},
		"held for manual work after its run began": {[]func(*infrav1.Terraform){auto, func(t *infrav1.Terraform) {
			t.Annotations = map[string]string{infrav1.AnnotationBreakTheGlass: "2026-11-21T10:00:00Z"}
		}}, run.OperationPlanAndApply, nil, "the stack is held for manual work"},
		"plan-only": {[]func(*infrav1.Terraform){auto, func(t *infrav1.Terraform) { t.Spec.PlanOnly = true }}, run.OperationPlanAndApply, nil, "the stack only allows plans"},
		"mode disable takes precedence over force": {[]func(*infrav1.Terraform){func(t *infrav1.Terraform) {
			t.Spec.Force, t.Spec.ApprovePlan = true, infrav1.ApprovePlanDisable
		}}, run.OperationPlanAndApply, nil, "the stack only allows plans"},
		"deleted, and the run deploys":                 {[]func(*infrav1.Terraform){auto, deleted}, run.OperationPlanAndApply, nil, "the stack is being deleted"},
		"deleted, and the run destroys":                {[]func(*infrav1.Terraform){deleted, destroying}, run.OperationPlanAndApply, toDelete, ""},
		"deleted, but its resources are kept":          {[]func(*infrav1.Terraform){deleted}, run.OperationPlanAndApply, toDelete, "the stack is no longer set to be destroyed"},
		"not deleted, but the run destroys":            {[]func(*infrav1.Terraform){auto, destroying}, run.OperationPlanAndApply, toDelete, "the stack is no longer set to be destroyed"},
		"suspended before its resources are destroyed": {[]func(*infrav1.Terraform){deleted, destroying, suspended}, run.OperationPlanAndApply, toDelete, "the stack was suspended"},
	} {
		t.Run(sentence, func(t *testing.T) {
			rec := ran(test.op, run.Result{}).rec
			if test.rec != nil {
				test.rec(&rec)
			}
			if got := objection(stackObject(test.obj...), rec); got != test.want {
				t.Errorf("objection %q, want %q", got, test.want)
			}
		})
	}
}

// A run of a deleted stack ends, even if another stack has its name.
func TestRunsOfDeletedStacks(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := infrav1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	r := &Reconciler{Reader: fake.NewClientBuilder().WithScheme(scheme).WithObjects(stackObject()).Build()}
	for stack, want := range map[run.Stack]string{
		run.StackOf(stackObject()):                      "",
		{Namespace: "team", Name: "vpc", UID: "before"}: "another stack of the same name has replaced it",
		{Namespace: "team", Name: "gone", UID: "gone"}:  "the stack was deleted",
	} {
		if obj, got, err := r.stackOf(t.Context(), run.Record{Spec: run.Spec{Stack: stack}}); err != nil || got != want || (obj == nil) != (want != "") {
			t.Errorf("%+v: %q, %v", stack, got, err)
		}
	}
}
