// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/stack/decide"
)

// saying is a stack whose Ready says something, of the generation before.
func saying(status metav1.ConditionStatus, reason, message string) func(*infrav1.Terraform) {
	return func(t *infrav1.Terraform) {
		t.Generation--
		setReady(t, status, reason, message)
		t.Generation++
	}
}

func lockPending(t *infrav1.Terraform) {
	t.Status.Lock.Pending = "lock-1"
	setCondition(t, infrav1.ConditionStateLocked, metav1.ConditionTrue, infrav1.ReasonLockHeld, "x")
}

func TestWhatADecisionMeansForTheConditions(t *testing.T) {
	later := finished.AddDate(0, 0, 1)
	noDrift := saying(metav1.ConditionTrue, infrav1.ReasonNoDrift, "No drift: "+revision)
	lock := &decide.Lock{ID: "lock-1", Who: "ci@build7", Since: finished}
	for sentence, test := range map[string]struct {
		change   []func(*infrav1.Terraform)
		facts    decide.Facts
		decision decide.Decision
		want     []string
	}{
		"a source that is not ready will be looked at again": {
			decision: decide.Decision{Verb: decide.VerbFail, Reason: decide.ReasonArtifactFailed, Message: "no artifact", NextCheck: later},
			want:     []string{"Ready=False ArtifactFailed: no artifact"}},
		"what only a person can change stalls": {
			decision: decide.Decision{Verb: decide.VerbFail, Reason: decide.ReasonAccessDenied, Message: "denied"},
			want:     []string{"Ready=False AccessDenied: denied", "Stalled=True AccessDenied: denied"}},
		"somebody else holds the lock": {
			facts:    decide.Facts{Lock: lock},
			decision: decide.Decision{Verb: decide.VerbWait, Reason: decide.ReasonLockHeld, NextCheck: later},
			want: []string{"StateLocked=True LockHeld: Terraform Locked with Lock Identifier: lock-1",
				"Ready=False LockHeld: State locked by ci@build7 since 2026-05-04T12:00:00Z (lock lock-1). Another run may be writing it. If that run is gone:\n" +
					"    yuba force-unlock vpc -n team lock-1"}},
		"the lock is free again": {
			change:   []func(*infrav1.Terraform){lockPending, saying(metav1.ConditionFalse, infrav1.ReasonLockHeld, "locked")},
			facts:    decide.Facts{Source: decide.Source{Revision: revision}},
			decision: decide.Decision{Verb: decide.VerbRest}, want: []string{"Ready=True TerraformPlannedNoChanges: Plan no changes: " + revision}},
		"a wait for another attempt leaves the failure told": {
			change:   []func(*infrav1.Terraform){saying(metav1.ConditionFalse, infrav1.ReasonPlanFailed, "boom")},
			decision: decide.Decision{Verb: decide.VerbWait, Reason: decide.ReasonRetryPending, NextCheck: later},
			want:     []string{"Ready=False TFExecPlanFailed: boom"}},
		"a plan begins": {
			decision: decide.Decision{Verb: decide.VerbPlan, Reason: decide.ReasonFirstPlan, Message: "not planned yet"},
			want:     []string{"Ready=Unknown Progressing: Terraform Planning", "Reconciling=True Progressing: not planned yet"}},
		"an approved plan begins to be applied": {
			change:   []func(*infrav1.Terraform){planPending},
			decision: decide.Decision{Verb: decide.VerbApply, Reason: decide.ReasonApproved, Message: "Applying"},
			want: []string{"Apply=Unknown Progressing: Apply started", "Ready=Unknown Progressing: Applying",
				"Reconciling=True Progressing: Applying"}},
		"a deletion begins": {
			decision: decide.Decision{Verb: decide.VerbPlanAndApply, Purpose: decide.PurposeDelete, Message: "Deletion in progress"},
			want:     []string{"Ready=Unknown Progressing: Deletion in progress", "Reconciling=True Progressing: Deletion in progress"}},
		"a look on the interval says nothing": {
			change:   []func(*infrav1.Terraform){noDrift},
			decision: decide.Decision{Verb: decide.VerbPlan, Reason: decide.ReasonDriftDue, Message: "Comparing"},
			want:     []string{"Ready=True NoDrift: No drift: " + revision}},
		"a plan waits for approval": {
			change:   []func(*infrav1.Terraform){planPending},
			decision: decide.Decision{Verb: decide.VerbAwaitApproval, Subject: planID, Reason: decide.ReasonAwaitingApproval, Message: approve},
			want:     []string{"Ready=Unknown TerraformPlannedWithChanges: " + approve}},
		"drift that waits for approval stays told as drift": {
			change:   []func(*infrav1.Terraform){planPending, saying(metav1.ConditionFalse, infrav1.ReasonDriftDetected, "Drift detected.")},
			decision: decide.Decision{Verb: decide.VerbAwaitApproval, Subject: planID, Reason: decide.ReasonAwaitingApproval, Message: approve},
			want:     []string{"Ready=False DriftDetected: Drift detected."}},
		"a rejected plan": {
			change:   []func(*infrav1.Terraform){planPending},
			decision: decide.Decision{Verb: decide.VerbAwaitApproval, Subject: planID, Reason: decide.ReasonRejected, Message: "rejected"},
			want:     []string{"Ready=False PlanRejected: rejected"}},
		"all is as it should be, for the new generation, too": {
			change:   []func(*infrav1.Terraform){noDrift},
			decision: decide.Decision{Verb: decide.VerbRest}, want: []string{"Ready=True NoDrift: No drift: " + revision}},
		"suspended while a plan was made": {
			change:   []func(*infrav1.Terraform){saying(metav1.ConditionUnknown, infrav1.ReasonProgressing, "Terraform Planning")},
			facts:    decide.Facts{Stack: decide.Stack{Suspended: true}},
			decision: decide.Decision{Verb: decide.VerbRest, Reason: decide.ReasonSuspended, Message: "Suspended by spec.suspend"},
			want:     []string{"Ready=Unknown Suspended: Suspended by spec.suspend"}},
		"suspended when all was well": {
			change:   []func(*infrav1.Terraform){noDrift},
			facts:    decide.Facts{Stack: decide.Stack{Suspended: true}},
			decision: decide.Decision{Verb: decide.VerbRest, Reason: decide.ReasonSuspended, Message: "Suspended by spec.suspend"},
			want:     []string{"Ready=True NoDrift: No drift: " + revision}},
		"a missing variable came back as it was": {
			change:   []func(*infrav1.Terraform){saying(metav1.ConditionFalse, infrav1.ReasonVarsGenerationFailed, "missing")},
			facts:    decide.Facts{Source: decide.Source{Revision: revision}},
			decision: decide.Decision{Verb: decide.VerbRest}, want: []string{"Ready=True TerraformPlannedNoChanges: Plan no changes: " + revision}},
	} {
		t.Run(sentence, func(t *testing.T) {
			p := &pass{obj: stackObject(test.change...), now: finished, facts: test.facts}
			describe(p, test.decision)
			var got []string
			for _, c := range p.obj.Status.Conditions {
				got = append(got, fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if p.obj.Status.ObservedGeneration != p.obj.Generation {
				t.Errorf("observed generation %d of %d", p.obj.Status.ObservedGeneration, p.obj.Generation)
			}
			if test.decision.Reason != decide.ReasonDriftDue { // whose run speaks of the new generation
				lint(t, p.obj)
			}
		})
	}
}

func TestWarningsAreToldOnceAndBounded(t *testing.T) {
	obj := stackObject(func(t *infrav1.Terraform) { t.Spec.EnableInventory = true })
	p := &pass{obj: obj, config: &configuration{}}
	describeWarnings(p)
	if diff := cmp.Diff([]string{"spec.enableInventory has no effect yet"}, obj.Status.Warnings); diff != "" || len(p.notes) != 1 {
		t.Errorf("%d events, warnings (-want +got):\n%s", len(p.notes), diff)
	}
	p = &pass{obj: obj, config: &configuration{}}
	if describeWarnings(p); len(p.notes) != 0 {
		t.Errorf("told again: %+v", p.notes)
	}
	for i := range 2 * infrav1.MaxWarnings {
		p.config.warnings = append(p.config.warnings, fmt.Sprintf("warning %d", i))
	}
	if describeWarnings(p); len(obj.Status.Warnings) != infrav1.MaxWarnings {
		t.Errorf("%d warnings", len(obj.Status.Warnings))
	}
	// An input that is missing for a while says nothing about the module.
	kept := len(obj.Status.Warnings)
	p = &pass{obj: obj, facts: decide.Facts{Source: decide.Source{Ready: true}}}
	if describeWarnings(p); len(obj.Status.Warnings) != kept {
		t.Errorf("%d warnings are left of %d", len(obj.Status.Warnings), kept)
	}
}
