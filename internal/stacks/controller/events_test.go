// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// Events about conditions have tofu-controller's words.
func TestEventsOfConditions(t *testing.T) {
	dependency := func(t *infrav1.Terraform) {
		saying(metav1.ConditionFalse, infrav1.ReasonDependencyNotReady, "dependency 'team/vpc' is not ready")(t)
		setCondition(t, infrav1.ConditionReconciling, metav1.ConditionTrue, infrav1.ReasonDependencyNotReady, "Dependencies do not meet ready condition, retrying in 15s")
	}
	applied := func(message string) func(*infrav1.Terraform) {
		return func(t *infrav1.Terraform) {
			t.Status.LastAppliedRevision = revision
			setCondition(t, infrav1.ConditionApply, metav1.ConditionTrue, infrav1.ReasonApplied, message)
			saying(metav1.ConditionTrue, infrav1.ReasonOutputsWritten, "Outputs written: "+revision)(t)
		}
	}
	locked := func(t *infrav1.Terraform) { lockMet(t, "lock-1") }
	ended := func(change ...func(*run.Record)) *run.Record {
		o := ran(run.OperationPlanAndApply, run.Result{Outcome: run.OutcomeSucceeded, Applied: true}, change...)
		return &o.rec
	}
	for sentence, test := range map[string]struct {
		is, was func(*infrav1.Terraform)
		kind    string
		ended   *run.Record
		want    *note
	}{
		"an unchanged condition has no event": {
			is: saying(metav1.ConditionFalse, infrav1.ReasonPlanFailed, "boom"), was: saying(metav1.ConditionFalse, infrav1.ReasonPlanFailed, "boom")},
		"a failure is a warning": {
			is: saying(metav1.ConditionFalse, infrav1.ReasonPlanFailed, "boom"), want: &note{true, infrav1.ReasonPlanFailed, "Ready", "boom"}},
		"a pending plan is reported": {
			is:   saying(metav1.ConditionUnknown, infrav1.ReasonPlannedWithChanges, approve),
			want: &note{false, infrav1.ReasonPlanSucceeded, "Ready", "Planned.\n" + approve}},
		"a dependency that is not ready is not a warning": {
			is: dependency, want: &note{false, infrav1.ReasonDependencyNotReady, "Ready", "Dependencies do not meet ready condition, retrying in 15s"}},
		"no drift as before has no event": {
			is: saying(metav1.ConditionTrue, infrav1.ReasonNoDrift, "No drift"), was: saying(metav1.ConditionTrue, infrav1.ReasonApplied, "Applied")},
		"no changes at another revision that needed no plan": {
			is: saying(metav1.ConditionTrue, infrav1.ReasonPlannedNoChanges, "Plan no changes: b"), was: saying(metav1.ConditionTrue, infrav1.ReasonPlannedNoChanges, "Plan no changes: a")},
		"drift that is gone is reported": {
			is:  saying(metav1.ConditionTrue, infrav1.ReasonNoDrift, "No drift"),
			was: saying(metav1.ConditionFalse, infrav1.ReasonDriftDetected, "Drift detected."), want: &note{false, infrav1.ReasonNoDrift, "Ready", "No drift"}},
		"an apply is reported, not a later step": {
			is: applied("Applied successfully"), ended: ended(), want: &note{false, infrav1.ReasonApplied, "Apply", "Applied successfully: " + revision}},
		"a destroy has its own reason": {
			is: applied("Destroy applied successfully"), ended: ended(destroy),
			want: &note{false, infrav1.ReasonDestroyed, "Apply", "Destroy applied successfully: " + revision}},
		"rewritten outputs have their own event": {
			is: applied("Applied successfully"), want: &note{false, infrav1.ReasonOutputsWritten, "Ready", "Outputs written: " + revision}},
		"a lock is a warning": {
			kind: infrav1.ConditionStateLocked, is: locked, want: &note{true, infrav1.ReasonLockHeld, "StateLocked", "Terraform Locked with Lock Identifier: lock-1"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			kind := test.kind
			if kind == "" {
				kind = infrav1.ConditionReady
			}
			before := stackObject()
			if test.was != nil {
				test.was(before)
			}
			p := passOver(stackObject(test.is))
			p.ended = test.ended
			var got *note
			if n, ok := p.news(kind, conditions.Of(before, kind)); ok {
				got = &n
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(note{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
