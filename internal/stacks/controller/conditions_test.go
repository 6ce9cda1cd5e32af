// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
	"github.com/yuba-dev/yuba/internal/stacks/reads"
)

// saying is a stack with a Ready condition of the previous generation.
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

func TestConditionsOfDecisions(t *testing.T) {
	later := finished.AddDate(0, 0, 1)
	noDrift := saying(metav1.ConditionTrue, infrav1.ReasonNoDrift, "No drift: "+revision)
	lock := &decide.Lock{ID: "lock-1", Who: "ci@build7", Since: finished}
	for sentence, test := range map[string]struct {
		change   []func(*infrav1.Terraform)
		facts    decide.Facts
		decision decide.Decision
		want     []string
	}{
		"a source that is not ready is checked again": {
			decision: decide.Decision{Verb: decide.VerbFail, Reason: decide.ReasonArtifactFailed, Message: "no artifact", NextCheck: later},
			want:     []string{"Ready=False ArtifactFailed: no artifact"}},
		"a problem that only a person can fix stalls the stack": {
			decision: decide.Decision{Verb: decide.VerbFail, Reason: decide.ReasonAccessDenied, Message: "denied"},
			want:     []string{"Ready=False AccessDenied: denied", "Stalled=True AccessDenied: denied"}},
		"somebody else holds the lock": {
			facts:    decide.Facts{Lock: lock},
			decision: decide.Decision{Verb: decide.VerbWait, Reason: decide.ReasonLockHeld, NextCheck: later},
			want: []string{"StateLocked=True LockHeld: Terraform Locked with Lock Identifier: lock-1",
				"Ready=False LockHeld: State locked by ci@build7 since 2026-05-04T12:00:00Z (lock lock-1). Another run may be writing it. If that run is gone:\n" +
					"    yuba force-unlock vpc -n team lock-1"}},
		"the lock was released": {
			change:   []func(*infrav1.Terraform){lockPending, saying(metav1.ConditionFalse, infrav1.ReasonLockHeld, "locked")},
			facts:    decide.Facts{Source: decide.Source{Revision: revision}},
			decision: decide.Decision{Verb: decide.VerbRest}, want: []string{"Ready=True TerraformPlannedNoChanges: Plan no changes: " + revision}},
		"a wait for a retry keeps the failure in Ready": {
			change:   []func(*infrav1.Terraform){saying(metav1.ConditionFalse, infrav1.ReasonPlanFailed, "boom")},
			decision: decide.Decision{Verb: decide.VerbWait, Reason: decide.ReasonRetryPending, NextCheck: later},
			want:     []string{"Ready=False TFExecPlanFailed: boom"}},
		"a wait for a change stalls the stack": {
			change:   []func(*infrav1.Terraform){saying(metav1.ConditionFalse, infrav1.ReasonPlanFailed, "boom")},
			decision: decide.Decision{Verb: decide.VerbWait, Reason: decide.ReasonRetryPending, Message: "pointless"},
			want:     []string{"Ready=False TFExecPlanFailed: boom", "Stalled=True TFExecPlanFailed: pointless"}},
		"all attempts are used up": {
			change:   []func(*infrav1.Terraform){saying(metav1.ConditionFalse, infrav1.ReasonPlanFailed, "boom")},
			decision: decide.Decision{Verb: decide.VerbWait, Reason: decide.ReasonRetryLimit, Message: infrav1.MessageRetryLimit},
			want:     []string{"Ready=False TFExecPlanFailed: boom", "Stalled=True RetryLimitReached: Resource reached maximum number of retries."}},
		"all attempts with a bad archive are used up": {
			decision: decide.Decision{Verb: decide.VerbFail, Reason: decide.ReasonArtifactFailed, Message: "damaged", Failures: 3, Spent: true},
			want:     []string{"Ready=False ArtifactFailed: damaged", "Stalled=True RetryLimitReached: Resource reached maximum number of retries."}},
		"a dependency is not ready": {
			decision: decide.Decision{Verb: decide.VerbWait, Reason: decide.ReasonDependencyNotReady, Message: "dependency 'team/vpc' is not ready",
				Detail: "Dependencies do not meet ready condition, retrying in 15s", NextCheck: later},
			want: []string{"Ready=False DependencyNotReady: dependency 'team/vpc' is not ready",
				"Reconciling=True DependencyNotReady: Dependencies do not meet ready condition, retrying in 15s"}},
		"a dependency is ready again and the stack is up to date": {
			change:   []func(*infrav1.Terraform){saying(metav1.ConditionFalse, infrav1.ReasonDependencyNotReady, "waiting")},
			facts:    decide.Facts{Source: decide.Source{Revision: revision}},
			decision: decide.Decision{Verb: decide.VerbRest}, want: []string{"Ready=True TerraformPlannedNoChanges: Plan no changes: " + revision}},
		"a dependency cycle stalls the stack": {
			decision: decide.Decision{Verb: decide.VerbFail, Reason: decide.ReasonDependencyCycle, Message: "a -> b -> a"},
			want:     []string{"Ready=False DependencyCycle: a -> b -> a", "Stalled=True DependencyCycle: a -> b -> a"}},
		"a deletion is blocked": {
			decision: decide.Decision{Verb: decide.VerbFail, Reason: decide.ReasonDeletionBlocked, Message: "blocked", NextCheck: later},
			want:     []string{"Ready=False DeletionBlockedByDependantsReason: blocked"}},
		"manual work makes Ready unknown": {
			change:   []func(*infrav1.Terraform){noDrift},
			decision: decide.Decision{Verb: decide.VerbWait, Reason: decide.ReasonBreakTheGlass, Message: "held"},
			want:     []string{"Ready=Unknown BreakTheGlass: held"}},
		"a plan begins": {
			decision: decide.Decision{Verb: decide.VerbPlan, Reason: decide.ReasonFirstPlan, Message: "not planned yet"},
			want:     []string{"Ready=Unknown Progressing: Terraform Planning", "Reconciling=True Progressing: not planned yet"}},
		"the apply of an approved plan begins": {
			change:   []func(*infrav1.Terraform){planPending},
			decision: decide.Decision{Verb: decide.VerbApply, Reason: decide.ReasonApproved, Message: "Applying"},
			want: []string{"Apply=Unknown Progressing: Apply started", "Ready=Unknown Progressing: Applying",
				"Reconciling=True Progressing: Applying"}},
		"a deletion begins": {
			decision: decide.Decision{Verb: decide.VerbPlanAndApply, Purpose: decide.PurposeDelete, Message: "Deletion in progress"},
			want:     []string{"Ready=Unknown Progressing: Deletion in progress", "Reconciling=True Progressing: Deletion in progress"}},
		"a drift check does not change Ready": {
			change:   []func(*infrav1.Terraform){noDrift},
			decision: decide.Decision{Verb: decide.VerbPlan, Reason: decide.ReasonDriftDue, Message: "Comparing"},
			want:     []string{"Ready=True NoDrift: No drift: " + revision}},
		"a plan waits for approval": {
			change:   []func(*infrav1.Terraform){planPending},
			decision: decide.Decision{Verb: decide.VerbAwaitApproval, Subject: planID, Reason: decide.ReasonAwaitingApproval, Message: approve},
			want:     []string{"Ready=Unknown TerraformPlannedWithChanges: " + approve}},
		"drift that waits for approval keeps its reason": {
			change:   []func(*infrav1.Terraform){planPending, saying(metav1.ConditionFalse, infrav1.ReasonDriftDetected, "Drift detected.")},
			decision: decide.Decision{Verb: decide.VerbAwaitApproval, Subject: planID, Reason: decide.ReasonAwaitingApproval, Message: approve},
			want:     []string{"Ready=False DriftDetected: Drift detected."}},
		"a rejected plan": {
			change:   []func(*infrav1.Terraform){planPending},
			decision: decide.Decision{Verb: decide.VerbAwaitApproval, Subject: planID, Reason: decide.ReasonRejected, Message: "rejected"},
			want:     []string{"Ready=False PlanRejected: rejected"}},
		"a new generation needs no change": {
			change:   []func(*infrav1.Terraform){noDrift},
			decision: decide.Decision{Verb: decide.VerbRest}, want: []string{"Ready=True NoDrift: No drift: " + revision}},
		"suspended while a plan was made": {
			change:   []func(*infrav1.Terraform){saying(metav1.ConditionUnknown, infrav1.ReasonProgressing, "Terraform Planning")},
			facts:    decide.Facts{Stack: decide.Stack{Suspended: true}},
			decision: decide.Decision{Verb: decide.VerbRest, Reason: decide.ReasonSuspended, Message: "Suspended by spec.suspend"},
			want:     []string{"Ready=Unknown Suspended: Suspended by spec.suspend"}},
		"suspended while ready": {
			change:   []func(*infrav1.Terraform){noDrift, func(t *infrav1.Terraform) { t.Status.ConfigDigest = "sha256:c" }},
			facts:    decide.Facts{Stack: decide.Stack{Suspended: true}, Config: "sha256:c"},
			decision: decide.Decision{Verb: decide.VerbRest, Reason: decide.ReasonSuspended, Message: "Suspended by spec.suspend"},
			want:     []string{"Ready=True NoDrift: No drift: " + revision}},
		"a missing variable came back unchanged": {
			change:   []func(*infrav1.Terraform){saying(metav1.ConditionFalse, infrav1.ReasonVarsGenerationFailed, "missing")},
			facts:    decide.Facts{Source: decide.Source{Revision: revision}},
			decision: decide.Decision{Verb: decide.VerbRest}, want: []string{"Ready=True TerraformPlannedNoChanges: Plan no changes: " + revision}},
	} {
		t.Run(sentence, func(t *testing.T) {
			p := passOver(stackObject(test.change...))
			p.facts = test.facts
			p.describeAs(test.decision)
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
			if test.decision.Reason != decide.ReasonDriftDue { // whose run covers the new generation
				lint(t, p.obj)
			}
		})
	}
}

// A Secret that was missing temporarily leaves the earlier failure to report.
func TestFailureReturnsAfterATemporaryProblem(t *testing.T) {
	result := failed(run.StepPlan, run.FailureConfiguration, false)
	for between, want := range map[string]string{
		infrav1.ReasonVarsGenerationFailed: "False TFExecPlanFailed: boom",
		infrav1.ReasonLockHeld:             "False TFExecPlanFailed: boom",
		infrav1.ReasonInitFailed:           "False TFExecInitFailed: between",
	} {
		p := passOver(stackObject(saying(metav1.ConditionFalse, between, "between")))
		p.failing = &run.Record{Result: &result}
		p.describeAs(decide.Decision{Verb: decide.VerbWait, Reason: decide.ReasonRetryPending, Message: "pointless"})
		if got := says(p.obj, infrav1.ConditionReady); got != want {
			t.Errorf("%s: %s", between, got)
		}
	}
}

// Reconciling an idle stack changes no condition, not even its time.
func TestIdleStacksKeepTheirConditions(t *testing.T) {
	for _, d := range []decide.Decision{
		{Verb: decide.VerbFail, Reason: decide.ReasonAccessDenied, Message: "denied"},
		{Verb: decide.VerbWait, Reason: decide.ReasonRetryLimit, Message: infrav1.MessageRetryLimit},
		{Verb: decide.VerbWait, Reason: decide.ReasonDependencyNotReady, Message: "waiting", Detail: "vpc", NextCheck: finished},
	} {
		p := passOver(stackObject(saying(metav1.ConditionFalse, infrav1.ReasonPlanFailed, "boom")))
		p.describeAs(d)
		for i := range p.obj.Status.Conditions {
			p.obj.Status.Conditions[i].LastTransitionTime = metav1.NewTime(finished)
		}
		before := p.obj.DeepCopy()
		p.describeAs(d)
		if diff := cmp.Diff(before.Status, p.obj.Status); diff != "" {
			t.Errorf("%s (-before +after):\n%s", d, diff)
		}
	}
}

// A suspended stack that was changed is not ready. One that was only suspended is.
func TestReadyOfSuspendedStacks(t *testing.T) {
	for config, want := range map[string]int64{"sha256:c": 2, "sha256:other": 1, "": 1} {
		p := passOver(stackObject(saying(metav1.ConditionTrue, infrav1.ReasonApplied, "applied"), func(t *infrav1.Terraform) { t.Status.ConfigDigest = "sha256:c" }))
		p.facts.Stack.Suspended, p.facts.Config = true, config
		p.describeAs(decide.Decision{Verb: decide.VerbRest, Reason: decide.ReasonSuspended})
		if ready := conditions.Of(p.obj, infrav1.ConditionReady); ready.ObservedGeneration != want || ready.Status != metav1.ConditionTrue {
			t.Errorf("with the configuration %q Ready is %s of generation %d", config, ready.Status, ready.ObservedGeneration)
		}
	}
}

func TestRequestsAreHandledWithoutARun(t *testing.T) {
	deleting := func(t *infrav1.Terraform) { now := metav1.Now(); t.DeletionTimestamp = &now }
	asked := func(t *infrav1.Terraform) {
		t.Annotations = map[string]string{infrav1.AnnotationReconcile: "now"}
		t.Status.ConfigDigest = "sha256:c"
	}
	for sentence, test := range map[string]struct {
		change          []func(*infrav1.Terraform)
		decision        decide.Decision
		handled, digest string
	}{
		// A request is met as soon as possible: nothing planned counts any more.
		"a failure":                             {nil, decide.Decision{Verb: decide.VerbFail, Reason: decide.ReasonArtifactFailed}, "now", ""},
		"a wait for a lock":                     {nil, decide.Decision{Verb: decide.VerbWait, Reason: decide.ReasonLockHeld}, "now", ""},
		"a wait for a person":                   {nil, decide.Decision{Verb: decide.VerbWait, Reason: decide.ReasonBreakTheGlass}, "now", ""},
		"a run that starts answers the request": {nil, decide.Decision{Verb: decide.VerbPlan, Reason: decide.ReasonRequested}, "now", "sha256:c"},
		"a blocked deletion":                    {[]func(*infrav1.Terraform){deleting}, decide.Decision{Verb: decide.VerbFail, Reason: decide.ReasonDeletionBlocked}, "now", "sha256:c"},
		"a run in progress does not answer":     {nil, decide.Decision{Verb: decide.VerbAwaitRun}, "", "sha256:c"},
		"suspension does not answer":            {nil, decide.Decision{Verb: decide.VerbRest, Reason: decide.ReasonSuspended}, "", "sha256:c"},
	} {
		p := passOver(stackObject(append(test.change, asked)...))
		p.facts = decide.Facts{Lock: &decide.Lock{ID: "lock-1"}}
		p.facts.Stack.Suspended = test.decision.Reason == decide.ReasonSuspended
		p.describeAs(test.decision)
		if s := p.obj.Status; s.LastHandledReconcileAt != test.handled || s.ConfigDigest != test.digest {
			t.Errorf("%s: handled %q, configuration %q", sentence, s.LastHandledReconcileAt, s.ConfigDigest)
		}
	}
}

func TestFailureCountStartsAgainWithAChange(t *testing.T) {
	for again, want := range map[bool]int64{true: 3, false: 0} {
		p := passOver(stackObject(func(t *infrav1.Terraform) { t.Status.ReconciliationFailures = 3 }))
		p.describeAs(decide.Decision{Verb: decide.VerbPlan, Reason: decide.ReasonRetry, Message: "x", Again: again})
		if got := p.obj.Status.ReconciliationFailures; got != want {
			t.Errorf("again %v: %d failures", again, got)
		}
	}
}

// Attempts that fail before a run are counted until source and inputs are usable again.
func TestRefusedAttemptsAreInTheStatus(t *testing.T) {
	p := passOver(stackObject())
	p.facts = decide.Facts{Source: decide.Source{Revision: revision}}
	p.describeAs(decide.Decision{Verb: decide.VerbFail, Reason: decide.ReasonArtifactFailed, Message: "damaged", Failures: 2, NextCheck: finished})
	if s := p.obj.Status; s.ReconciliationFailures != 2 || !s.LastFailedAttemptAt.Time.Equal(finished) || s.LastAttemptedRevision != revision {
		t.Errorf("%d failures, the last at %s of %q", s.ReconciliationFailures, s.LastFailedAttemptAt, s.LastAttemptedRevision)
	}
	want := decide.Refusal{At: finished, Failures: 2, Generation: 2, Revision: revision}
	if diff := cmp.Diff(want, refusalFacts(p.obj)); diff != "" {
		t.Errorf("as the next pass sees it (-want +got):\n%s", diff)
	}
	p.describeAs(decide.Decision{Verb: decide.VerbFail, Reason: decide.ReasonArtifactFailed, Message: "damaged", NextCheck: finished})
	if diff := cmp.Diff(want, refusalFacts(p.obj)); diff != "" {
		t.Errorf("after a pass between two attempts (-want +got):\n%s", diff)
	}
	p.facts.Config = "sha256:c"
	p.describeAs(decide.Decision{Verb: decide.VerbRest})
	if s := p.obj.Status; s.ReconciliationFailures != 0 || s.LastFailedAttemptAt != nil {
		t.Errorf("once the archive is there: %d failures, the last at %s", s.ReconciliationFailures, s.LastFailedAttemptAt)
	}
}

// A change of the object that keeps the plan does not make it look stale.
func TestGenerationsWithTheSameConfigurationCountAsPlanned(t *testing.T) {
	for sentence, test := range map[string]struct {
		config    string
		suspended bool
		verb      decide.Verb
		want      int64
	}{
		"an idle stack":                                {"sha256:c", false, decide.VerbRest, 2},
		"a pending plan":                               {"sha256:c", false, decide.VerbAwaitApproval, 2},
		"a changed configuration that waits":           {"sha256:d", false, decide.VerbWait, 1},
		"a changed configuration of a suspended stack": {"sha256:d", true, decide.VerbRest, 1},
		"a suspended stack":                            {"sha256:c", true, decide.VerbRest, 1},
	} {
		p := passOver(stackObject(func(t *infrav1.Terraform) { t.Status.ConfigDigest, t.Status.LastPlannedGeneration = "sha256:c", 1 }))
		p.facts = decide.Facts{Config: test.config, Stack: decide.Stack{Suspended: test.suspended}}
		p.describeAs(decide.Decision{Verb: test.verb})
		if got := p.obj.Status.LastPlannedGeneration; got != test.want {
			t.Errorf("%s: generation %d is planned, want %d", sentence, got, test.want)
		}
	}
}

// A commit that changes nothing for a stack counts as planned: dependants wait for that.
func TestRevisionsWithTheSameConfigurationCountAsPlanned(t *testing.T) {
	for sentence, test := range map[string]struct {
		config    string
		suspended bool
		want      string
	}{
		"the same configuration":                 {"sha256:c", false, revision},
		"another configuration":                  {"sha256:d", false, "old"},
		"the same configuration of a held stack": {"sha256:c", true, "old"},
	} {
		p := passOver(stackObject(func(t *infrav1.Terraform) {
			t.Status.ConfigDigest, t.Status.LastPlannedRevision, t.Status.LastAppliedRevision = "sha256:c", "old", "old"
			setReady(t, metav1.ConditionTrue, infrav1.ReasonNoDrift, "No drift: old")
		}))
		p.facts = decide.Facts{Config: test.config, Source: decide.Source{Ready: true, Revision: revision}, Stack: decide.Stack{Suspended: test.suspended}}
		p.describeAs(decide.Decision{Verb: decide.VerbRest})
		if s := p.obj.Status; s.LastPlannedRevision != test.want || s.LastAppliedRevision != "old" {
			t.Errorf("%s: planned %q, applied %q", sentence, s.LastPlannedRevision, s.LastAppliedRevision)
		}
		if got := says(p.obj, infrav1.ConditionReady); got != "True NoDrift: No drift: "+test.want {
			t.Errorf("%s: Ready is %s", sentence, got)
		}
	}
}

func TestWarningsAreReportedOnceAndLimited(t *testing.T) {
	obj := stackObject(func(t *infrav1.Terraform) { t.Spec.BranchPlanner = &infrav1.BranchPlanner{} })
	p := passOver(obj)
	p.config = &reads.Configuration{}
	describeWarnings(p)
	if diff := cmp.Diff([]string{"spec.branchPlanner has no effect yet"}, obj.Status.Warnings); diff != "" || len(p.notes) != 1 {
		t.Errorf("%d events, warnings (-want +got):\n%s", len(p.notes), diff)
	}
	p = passOver(obj)
	p.config = &reads.Configuration{}
	if describeWarnings(p); len(p.notes) != 0 {
		t.Errorf("reported again: %+v", p.notes)
	}
	for i := range 2 * infrav1.MaxWarnings {
		p.config.Warnings = append(p.config.Warnings, fmt.Sprintf("warning %d", i))
	}
	if describeWarnings(p); len(obj.Status.Warnings) != infrav1.MaxWarnings {
		t.Errorf("%d warnings", len(obj.Status.Warnings))
	}
	// A missing input says nothing about the module.
	kept := len(obj.Status.Warnings)
	p = passOver(obj)
	p.facts = decide.Facts{Source: decide.Source{Ready: true}}
	if describeWarnings(p); len(obj.Status.Warnings) != kept {
		t.Errorf("%d warnings are left of %d", len(obj.Status.Warnings), kept)
	}
}

func TestNoticesAreWarningsWhileTheyLast(t *testing.T) {
	notice := run.NoticePrefix + "acme/vpc/aws 1.2.0, which is revoked: it leaks"
	p := passOver(&infrav1.Terraform{})
	p.notices = []string{notice}
	describeWarnings(p)
	if diff := cmp.Diff([]string{notice}, p.obj.Status.Warnings); diff != "" || len(p.notes) != 1 {
		t.Errorf("%s, events %+v", diff, p.notes)
	}
	// Without inputs the other warnings stay, but not a notice that was withdrawn.
	next := passOver(p.obj)
	next.facts.Source.Ready = true
	if describeWarnings(next); len(next.obj.Status.Warnings) != 0 || len(next.notes) != 0 {
		t.Errorf("%+v, events %+v", next.obj.Status.Warnings, next.notes)
	}
}
