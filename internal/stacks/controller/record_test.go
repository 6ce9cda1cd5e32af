// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

var finished = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

const (
	revision = "main@sha1:0123456789abcdef0123456789abcdef01234567"
	planID   = "plan-main-0123456789"
)

// told is what a stack's status shows.
type told struct {
	Ready, Plan, Apply string
	Pending, Applied   string
	Flags              string
	Failures           int64
}

func tell(obj *infrav1.Terraform) told {
	say := func(kind string) string {
		c := conditions.Of(obj, kind)
		if c.Type == "" {
			return ""
		}
		return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
	}
	p := &obj.Status.Plan
	var flags []string
	for flag, set := range map[string]bool{"approved": p.Approved, "destroy": p.IsDestroyPlan, "drift": p.IsDriftDetectionPlan} {
		if set {
			flags = append(flags, flag)
		}
	}
	if len(flags) > 1 {
		flags = []string{"several"}
	}
	return told{say("Ready"), say("Plan"), say("Apply"), p.Pending, p.LastApplied, strings.Join(flags, ""), obj.Status.ReconciliationFailures}
}

// stackObject is a stack in its second generation.
func stackObject(change ...func(*infrav1.Terraform)) *infrav1.Terraform {
	obj := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "vpc", UID: "uid-1", Generation: 2}}
	for _, c := range change {
		c(obj)
	}
	return obj
}

func planPending(t *infrav1.Terraform) {
	t.Status.Plan.Pending, t.Status.Plan.Base, t.Status.Plan.ChangesDigest = planID, planID, "changes-1"
	t.Status.Plan.RunID, t.Status.Plan.Digest, t.Status.Plan.Sequence = "earlier", "sha256:p", 1
}

func applying(t *infrav1.Terraform) {
	planPending(t)
	t.Status.Plan.Approved = true
	setCondition(t, infrav1.ConditionApply, metav1.ConditionUnknown, infrav1.ReasonProgressing, infrav1.MessageApplyStarted)
}

// ran is the outcome of a run.
func ran(op run.Operation, result run.Result, change ...func(*run.Record)) outcome {
	result.Finished = finished
	rec := run.Record{Created: finished.Add(-time.Minute), Config: "sha256:c", Result: &result,
		Spec: run.Spec{ID: "r1", Operation: op, Purpose: run.PurposeDeploy, Artifact: run.Artifact{Revision: revision, Digest: "sha256:a"}}}
	if op == run.OperationApply {
		rec.Spec.Plan = &run.PlanRef{ID: planID}
	}
	for _, c := range change {
		c(&rec)
	}
	return outcome{rec: rec, planText: "Plan: 1 to add, 0 to change, 0 to destroy."}
}

func drift(r *run.Record)   { r.Spec.Purpose = run.PurposeDrift }
func destroy(r *run.Record) { r.Spec.Destroy = true }

var (
	changes   = run.Result{Outcome: run.OutcomeSucceeded, Plan: &run.PlanResult{Changes: true, ChangesDigest: "changes-1", Digest: "sha256:p"}}
	noChanges = run.Result{Outcome: run.OutcomeSucceeded, Plan: &run.PlanResult{}}
	applied   = run.Result{Outcome: run.OutcomeSucceeded, Applied: true, ApplyStarted: true}
	planText  = "Plan: 1 to add, 0 to change, 0 to destroy."
	approve   = `Plan generated: set approvePlan: "` + planID + `" to approve this plan.`
)

func failed(step run.Step, class run.Failure, started bool) run.Result {
	return run.Result{Outcome: run.OutcomeFailed, FailedStep: step, Class: class, Error: "boom", ApplyStarted: started}
}

func TestStatusAfterARun(t *testing.T) {
	const noPlan, planned = "False TerraformPlannedNoChanges: Plan no changes", "True TerraformPlannedWithChanges: Plan generated"
	for sentence, test := range map[string]struct {
		obj     *infrav1.Terraform
		outcome outcome
		want    told
	}{
		"a plan with changes waits for approval": {
			stackObject(), ran(run.OperationPlan, changes),
			told{Ready: "Unknown TerraformPlannedWithChanges: " + approve, Plan: planned, Pending: planID}},
		"a plan to destroy waits for approval": {
			stackObject(), ran(run.OperationPlan, changes, destroy),
			told{Ready: "Unknown TerraformPlannedWithChanges: " + approve, Plan: planned, Pending: planID, Flags: "destroy"}},
		"a plan of a plan-only stack waits for no approval": {
			stackObject(func(t *infrav1.Terraform) { t.Spec.PlanOnly = true }), ran(run.OperationPlan, changes),
			told{Ready: "Unknown TerraformPlannedWithChanges: Plan generated: This object is in the plan only mode.",
				Plan: planned, Pending: planID}},
		"drift is reported with the objects and how to approve its repair": {
			stackObject(), ran(run.OperationPlan, changes, drift),
			told{Ready: "False DriftDetected: Drift detected.\n" + planText + "\n" + approve, Plan: planned, Pending: planID, Flags: "drift"}},
		"drift in mode disable cannot be approved": {
			stackObject(func(t *infrav1.Terraform) { t.Spec.ApprovePlan = infrav1.ApprovePlanDisable }), ran(run.OperationPlan, changes, drift),
			told{Ready: "False DriftDetected: Drift detected.\n" + planText, Plan: planned, Pending: planID, Flags: "drift"}},
		"a drift check that finds the pending changes keeps the pending plan": {
			stackObject(planPending), ran(run.OperationPlan, changes, drift),
			told{Ready: "Unknown TerraformPlannedWithChanges: " + approve, Plan: planned, Pending: planID}},
		"a plan with no changes": {
			stackObject(planPending), ran(run.OperationPlan, noChanges),
			told{Ready: "True TerraformPlannedNoChanges: Plan no changes: " + revision, Plan: noPlan}},
		"an automatic run that finds no changes": {
			stackObject(), ran(run.OperationPlanAndApply, noChanges),
			told{Ready: "True TerraformPlannedNoChanges: Plan no changes: " + revision, Plan: noPlan}},
		"no drift": {
			stackObject(), ran(run.OperationPlan, noChanges, drift),
			told{Ready: "True NoDrift: No drift: " + revision, Plan: noPlan}},
		"nothing to destroy": {
			stackObject(), ran(run.OperationPlanAndApply, noChanges, destroy),
			told{Ready: "True TerraformPlannedNoChanges: No objects need to be destroyed: " + revision,
				Plan: "False TerraformPlannedNoChanges: No objects need to be destroyed"}},
		"an approved plan was applied": {
			stackObject(applying), ran(run.OperationApply, applied),
			told{Ready: "True TerraformAppliedSucceed: Applied successfully: " + revision, Plan: planned,
				Apply: "True TerraformAppliedSucceed: Applied successfully", Applied: planID}},
		"an automatic apply names its plan": {
			stackObject(), ran(run.OperationPlanAndApply, applied),
			told{Ready: "True TerraformAppliedSucceed: Applied successfully: " + revision, Plan: planned,
				Apply: "True TerraformAppliedSucceed: Applied successfully", Applied: planID}},
		"everything was destroyed": {
			stackObject(), ran(run.OperationPlanAndApply, applied, destroy),
			told{Ready: "True TerraformAppliedSucceed: Destroy applied successfully: " + revision, Plan: planned,
				Apply: "True TerraformAppliedSucceed: Destroy applied successfully", Applied: planID, Flags: "destroy"}},
		"drift was repaired": {
			stackObject(), ran(run.OperationPlanAndApply, applied, drift),
			told{Ready: "True TerraformAppliedSucceed: Applied successfully: " + revision, Plan: planned,
				Apply: "True TerraformAppliedSucceed: Applied successfully", Applied: planID, Flags: "drift"}},
		"init failed": {
			stackObject(), ran(run.OperationPlan, failed(run.StepInit, "", false)), told{Ready: "False TFExecInitFailed: boom", Failures: 1}},
		"the source could not be unpacked": {
			stackObject(), ran(run.OperationPlan, failed(run.StepPrepare, run.FailureSource, false)), told{Ready: "False ArtifactFailed: boom", Failures: 1}},
		"the tool is missing": {
			stackObject(), ran(run.OperationPlan, failed(run.StepPrepare, run.FailureTool, false)), told{Ready: "False TFExecNewFailed: boom", Failures: 1}},
		"the plan failed": {
			stackObject(), ran(run.OperationPlan, failed(run.StepPlan, run.FailureConfiguration, false)), told{Ready: "False TFExecPlanFailed: boom", Failures: 1}},
		"a drift check failed": {
			stackObject(), ran(run.OperationPlan, failed(run.StepPlan, "", false), drift), told{Ready: "False DriftDetectionFailed: boom", Failures: 1}},
		"init failed before a drift check": {
			stackObject(), ran(run.OperationPlan, failed(run.StepInit, "", false), drift), told{Ready: "False TFExecInitFailed: boom", Failures: 1}},
		"the repair of drift failed": {
			stackObject(), ran(run.OperationPlanAndApply, failed(run.StepApply, "", true), drift),
			told{Ready: "False TFExecApplyFailed: boom", Apply: "False TerraformAppliedFail: boom", Failures: 1}},
		"the outputs could not be read": {
			stackObject(), ran(run.OperationPlanAndApply, failed(run.StepOutput, "", true)),
			told{Ready: "False TFExecOutputFailed: boom", Apply: "False TerraformAppliedFail: boom", Failures: 1}},
		"a failed apply uses up its plan": {
			stackObject(applying), ran(run.OperationApply, failed(run.StepApply, "", true)),
			told{Ready: "False TFExecApplyFailed: boom", Apply: "False TerraformAppliedFail: boom", Failures: 1}},
		"an apply that never began keeps its plan's id": {
			stackObject(applying), ran(run.OperationApply, failed(run.StepApply, run.FailureLocked, false)),
			told{Ready: "False LockHeld: boom", Pending: planID, Failures: 1}},
		"the state changed before the apply": {
			stackObject(applying), ran(run.OperationApply, failed(run.StepApply, run.FailureStalePlan, false)),
			told{Ready: "False StateMoved: boom", Pending: planID, Failures: 1}},
		"interrupted in the middle of an apply": {
			stackObject(applying), ran(run.OperationApply, run.Result{Outcome: run.OutcomeInterrupted, Error: "gone", ApplyStarted: true, UnprovenMore: 1,
				Unproven: []run.Unproven{{Address: "x.a", ID: "i-1", MayExist: true, Certain: true}}}),
			told{Ready: "False RunInterrupted: gone\nNo state proves what became of:\n  x.a (i-1): was created, and no state has it\n  and 1 more\nCheck whether they exist. Import or remove those that do.",
				Apply: "False TerraformAppliedFail: gone", Failures: 1}},
		"a webhook refused the plan, so neither it nor the previous one can be approved": {
			stackObject(planPending), ran(run.OperationPlan, failed(run.StepPlan, run.FailureRefused, false)),
			told{Ready: "False PostPlanningWebhookFailed: boom", Plan: "False PostPlanningWebhookFailed: boom", Failures: 1}},
		"a canceled apply changes nothing": {
			stackObject(applying), ran(run.OperationApply, run.Result{Outcome: run.OutcomeCanceled}), told{Pending: planID}},
	} {
		t.Run(sentence, func(t *testing.T) {
			obj := test.obj
			obj.Status.CurrentRun = &infrav1.RunReference{ID: "r1"}
			record(obj, test.outcome)
			if diff := cmp.Diff(test.want, tell(obj)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if obj.Status.CurrentRun != nil || obj.Status.LastRun == nil || obj.Status.LastRun.ID != "r1" || obj.Status.LastAttemptedRevision != revision {
				t.Errorf("runs: current %+v, last %+v of %s", obj.Status.CurrentRun, obj.Status.LastRun, obj.Status.LastAttemptedRevision)
			}
			if test.want.Ready != "" {
				lint(t, obj)
			}
		})
	}
}

func TestChangesDuringARunAreNotPlannedByIt(t *testing.T) {
	obj := stackObject(func(o *infrav1.Terraform) { o.Generation = 3 })
	record(obj, ran(run.OperationPlanAndApply, applied, func(rec *run.Record) { rec.Generation = 2 }))
	if got := obj.Status.LastPlannedGeneration; got != 2 {
		t.Errorf("generation %d was planned, want 2", got)
	}
}

func TestFactsOfTheLastApply(t *testing.T) {
	obj := stackObject(applying, func(t *infrav1.Terraform) { t.Status.Plan.Summary = "+1 ~0 -0" })
	o := ran(run.OperationApply, applied)
	o.rec.Spec.Path, o.rec.StateMark = "live/vpc", &run.StateMark{Serial: 7}
	record(obj, o)
	s := &obj.Status
	serial := int64(7)
	want := infrav1.TerraformStatus{ConfigDigest: "sha256:c", LastAppliedRevision: revision, LastPlannedRevision: revision, LastPlannedGeneration: 2,
		LastAppliedArtifact: &infrav1.ArtifactReference{Digest: "sha256:a", Revision: revision, Path: "live/vpc"}, LastAppliedRun: "r1", StateSerial: &serial}
	got := infrav1.TerraformStatus{ConfigDigest: s.ConfigDigest, LastAppliedRevision: s.LastAppliedRevision, LastPlannedRevision: s.LastPlannedRevision,
		LastPlannedGeneration: s.LastPlannedGeneration, LastAppliedArtifact: s.LastAppliedArtifact, LastAppliedRun: s.LastAppliedRun, StateSerial: s.StateSerial}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s.Plan.Summary != "+1 ~0 -0" || s.Plan.RunID != "" || s.Plan.Digest != "" {
		t.Errorf("plan %+v", s.Plan)
	}
}

func TestPlanWithoutChangesOfAnAdoptedStack(t *testing.T) {
	adopted := func(t *infrav1.Terraform) { t.Status.LastAppliedRevision = revision }
	quiet := func(r *run.Record) { r.Quiet = true }
	state := func(r *run.Record) { r.StateMark = &run.StateMark{Serial: 7, Digest: "sha256:s"} }
	none := func(r *run.Record) { r.StateMark = &run.StateMark{} }
	printed := func(r *run.Record) { r.Result.Outputs = []byte("{}") }
	for sentence, test := range map[string]struct {
		obj     *infrav1.Terraform
		outcome outcome
		want    string
	}{
		"a plan on a state":                       {stackObject(), ran(run.OperationPlan, noChanges, state), "r1"},
		"a plan without a state":                  {stackObject(), ran(run.OperationPlan, noChanges, none), ""},
		"a plan on a custom backend":              {stackObject(), ran(run.OperationPlan, noChanges, printed), "r1"},
		"adopted":                                 {stackObject(adopted), ran(run.OperationPlan, noChanges), "r1"},
		"a stack that was never applied":          {stackObject(), ran(run.OperationPlan, noChanges), ""},
		"destroyed":                               {stackObject(adopted), ran(run.OperationPlan, noChanges, destroy), ""},
		"an unannounced drift check":              {stackObject(adopted), ran(run.OperationPlan, noChanges, quiet), ""},
		"a stack that Yuba itself applied before": {stackObject(adopted, func(t *infrav1.Terraform) { t.Status.LastAppliedRun = "r0" }), ran(run.OperationPlan, noChanges), "r0"},
	} {
		if record(test.obj, test.outcome); test.obj.Status.LastAppliedRun != test.want {
			t.Errorf("%s: %q", sentence, test.obj.Status.LastAppliedRun)
		}
	}
}

func TestRejectedPlansGetNewIDs(t *testing.T) {
	obj := stackObject(planPending, func(t *infrav1.Terraform) { t.Status.Plan.Rejected = planID })
	record(obj, ran(run.OperationPlan, changes))
	if obj.Status.Plan.Pending == planID || !strings.HasPrefix(obj.Status.Plan.Pending, planID) {
		t.Errorf("pending %q", obj.Status.Plan.Pending)
	}
}

func TestWhichPassesAreRecorded(t *testing.T) {
	settled := func(t *infrav1.Terraform) {
		t.Status.ConfigDigest = "sha256:c"
		setReady(t, metav1.ConditionTrue, infrav1.ReasonNoDrift, "No drift")
	}
	moved := run.Result{Outcome: run.OutcomeSucceeded, Plan: &run.PlanResult{Changes: true, ChangesDigest: "changes-2"}}
	for sentence, test := range map[string]struct {
		obj    *infrav1.Terraform
		result run.Result
		want   bool
	}{
		"no changes, as before":                 {stackObject(settled), noChanges, false},
		"no changes with another configuration": {stackObject(), noChanges, true},
		"no changes after a pending plan":       {stackObject(settled, planPending), noChanges, true},
		"no changes after a problem":            {stackObject(settled, func(t *infrav1.Terraform) { setReady(t, metav1.ConditionFalse, "LockHeld", "x") }), noChanges, true},
		"no changes while unhealthy": {stackObject(settled, func(t *infrav1.Terraform) {
			setReady(t, metav1.ConditionFalse, infrav1.ReasonHealthChecksFailed, "x")
		}), noChanges, false},
		"an unknown inventory":                {stackObject(settled), run.Result{Outcome: run.OutcomeSucceeded, Plan: &run.PlanResult{}, Resources: []run.Resource{}}, true},
		"new changes":                         {stackObject(settled), changes, true},
		"the pending changes":                 {stackObject(settled, planPending), changes, false},
		"other changes than the pending ones": {stackObject(settled, planPending), moved, true},
		"a failure":                           {stackObject(settled), failed(run.StepPlan, "", false), true},
		"canceled":                            {stackObject(settled), run.Result{Outcome: run.OutcomeCanceled}, false},
		"an apply that repaired drift":        {stackObject(settled), applied, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := worthRecording(test.obj, ran(run.OperationPlan, test.result).rec); got != test.want {
				t.Errorf("worth recording: %v", got)
			}
		})
	}
}
