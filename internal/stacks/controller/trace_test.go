// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// A pass that finds nothing new leaves a trace now and then.
func TestPassesUpdateTheStatusNowAndThen(t *testing.T) {
	ago := func(d time.Duration) *metav1.Time { at := metav1.NewTime(finished.Add(-d)); return &at }
	checked := func(d time.Duration) func(*infrav1.Terraform) {
		return func(t *infrav1.Terraform) {
			t.Status.LastDriftCheckAt, t.Status.LastSuccessfulReconcileAt = ago(d), ago(d)
		}
	}
	noDrift := saying(metav1.ConditionTrue, infrav1.ReasonNoDrift, "No drift: "+revision)
	appliedOnce := saying(metav1.ConditionTrue, infrav1.ReasonApplied, "Applied successfully: "+revision)
	unhealthy := saying(metav1.ConditionFalse, infrav1.ReasonHealthChecksFailed, "it does not answer")
	drifting := func(d time.Duration) func(*infrav1.Terraform) {
		return func(t *infrav1.Terraform) {
			planPending(t)
			t.Status.Plan.IsDriftDetectionPlan, t.Status.LastDriftDetectedAt = true, ago(d)
			setReady(t, metav1.ConditionFalse, infrav1.ReasonDriftDetected, "Drift detected.")
		}
	}
	quiet := func(r *run.Record) { r.Quiet = true }
	type trace struct{ Ready, Checked, Succeeded, Drifted string }
	told := func(t *metav1.Time) string {
		if t == nil {
			return ""
		}
		return fmt.Sprint(t.Sub(finished))
	}
	const none = "True NoDrift: No drift: " + revision
	for sentence, test := range map[string]struct {
		change []func(*infrav1.Terraform)
		result run.Result
		want   trace
	}{
		"the first clean check after an apply": {
			[]func(*infrav1.Terraform){appliedOnce, checked(time.Minute)}, noChanges, trace{none, "0s", "0s", ""}},
		"the next clean check, a minute later": {
			[]func(*infrav1.Terraform){noDrift, checked(time.Minute)}, noChanges, trace{none, "-1m0s", "-1m0s", ""}},
		"a clean check nearly an hour later": {
			[]func(*infrav1.Terraform){noDrift, checked(time.Hour - 1)}, noChanges, trace{none, told(ago(time.Hour - 1)), told(ago(time.Hour - 1)), ""}},
		"a clean check more than an hour later": {
			[]func(*infrav1.Terraform){noDrift, checked(75 * time.Minute)}, noChanges, trace{none, "0s", "0s", ""}},
		"a clean check after an unknown time": {
			[]func(*infrav1.Terraform){noDrift}, noChanges, trace{none, "0s", "0s", ""}},
		"a clean check of an unhealthy stack": {
			[]func(*infrav1.Terraform){unhealthy, checked(time.Minute)}, noChanges, trace{"False HealthChecksFailed: it does not answer", "-1m0s", "-1m0s", ""}},
		"an hour later an unhealthy stack is checked, but not successful": {
			[]func(*infrav1.Terraform){unhealthy, checked(2 * time.Hour)}, noChanges, trace{"False HealthChecksFailed: it does not answer", "0s", "-2h0m0s", ""}},
		"drift that stays, a minute later": {
			[]func(*infrav1.Terraform){drifting(time.Minute), checked(time.Minute)}, changes, trace{"False DriftDetected: Drift detected.", "-1m0s", "-1m0s", "-1m0s"}},
		"drift that stays, hours later": {
			[]func(*infrav1.Terraform){drifting(2 * time.Hour), checked(3 * time.Hour)}, changes, trace{"False DriftDetected: Drift detected.", "0s", "-3h0m0s", "0s"}},
		"a pending plan is not drift": {
			[]func(*infrav1.Terraform){planPending, checked(3 * time.Hour)}, changes, trace{"", "-3h0m0s", "-3h0m0s", ""}},
		"a canceled check": {
			[]func(*infrav1.Terraform){appliedOnce, checked(3 * time.Hour)}, run.Result{Outcome: run.OutcomeCanceled},
			trace{"True TerraformAppliedSucceed: Applied successfully: " + revision, "-3h0m0s", "-3h0m0s", ""}},
	} {
		t.Run(sentence, func(t *testing.T) {
			obj := stackObject(test.change...)
			leaveTrace(obj, ran(run.OperationPlan, test.result, drift, quiet).rec)
			s := &obj.Status
			got := trace{says(obj, infrav1.ConditionReady), told(s.LastDriftCheckAt), told(s.LastSuccessfulReconcileAt), told(s.LastDriftDetectedAt)}
			if test.want.Ready == "" {
				got.Ready = ""
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A forced stack without drift detection is planned on its interval, and leaves a trace, too.
func TestPassesWithoutDriftDetection(t *testing.T) {
	obj := stackObject(saying(metav1.ConditionTrue, infrav1.ReasonApplied, "Applied successfully: "+revision))
	leaveTrace(obj, ran(run.OperationPlanAndApply, noChanges).rec)
	if got := says(obj, infrav1.ConditionReady); got != "True TerraformAppliedSucceed: Applied successfully: "+revision || obj.Status.LastSuccessfulReconcileAt == nil {
		t.Errorf("%s, successful at %s", got, obj.Status.LastSuccessfulReconcileAt)
	}
}

// Stacks that were applied together do not all write together.
func TestStatusUpdatesAreSpread(t *testing.T) {
	minutes := map[time.Duration]int{}
	for i := range 1000 {
		pause := tracePause + spread(types.UID(fmt.Sprintf("uid-%d", i)))
		if pause < time.Hour || pause >= 75*time.Minute {
			t.Fatalf("a pause of %s", pause)
		}
		minutes[pause.Truncate(time.Minute)]++
	}
	for minute, stacks := range minutes {
		if stacks > 150 {
			t.Errorf("%d of 1000 stacks write in minute %s", stacks, minute)
		}
	}
}
