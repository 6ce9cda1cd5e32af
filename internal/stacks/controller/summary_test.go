// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
)

type edit = func(*infrav1.Terraform)

// pendingOf is a stack with a pending plan of these changes.
func pendingOf(counts string, more ...edit) []edit {
	return append([]edit{planPending, saying(metav1.ConditionUnknown, infrav1.ReasonPlannedWithChanges, approve),
		func(t *infrav1.Terraform) { t.Status.Plan.Summary = counts }}, more...)
}

func applyFailed(t *infrav1.Terraform) { t.Status.LastFailedApply = &infrav1.RunReference{ID: "r0"} }

func inHand(t *infrav1.Terraform) { t.Status.CurrentRun = &infrav1.RunReference{ID: "r1"} }

func suspended(t *infrav1.Terraform) { t.Spec.Suspend = true }

func beingDeleted(t *infrav1.Terraform) { now := metav1.NewTime(finished); t.DeletionTimestamp = &now }

func TestSummary(t *testing.T) {
	yes := func(reason, message string) edit { return saying(metav1.ConditionTrue, reason, message) }
	no := func(reason string) edit { return saying(metav1.ConditionFalse, reason, "Error: no\nmore") }
	working := func(message string) edit {
		return saying(metav1.ConditionUnknown, infrav1.ReasonProgressing, message)
	}
	noChanges := func(t *infrav1.Terraform) {
		setCondition(t, infrav1.ConditionPlan, metav1.ConditionFalse, infrav1.ReasonPlannedNoChanges, infrav1.MessagePlanNoChanges)
	}
	paused := func(t *infrav1.Terraform) {
		setCondition(t, infrav1.ConditionPaused, metav1.ConditionTrue, infrav1.ReasonCircuitOpen, "Paused by circuit breaker aws-1: out")
	}
	planOnly := func(t *infrav1.Terraform) { t.Spec.PlanOnly = true }
	heldBack := func(t *infrav1.Terraform) { t.Status.Plan.HeldBy = "aws-1" }
	destroys := func(t *infrav1.Terraform) { t.Spec.Destroy = true }
	drifted := []edit{no(infrav1.ReasonDriftDetected), func(t *infrav1.Terraform) { t.Status.Plan.Summary = "+0 ~1 -0" }}
	for sentence, test := range map[string]struct {
		change           []edit
		blocker, circuit string
		want             string
	}{
		"not reconciled yet":                                   {nil, "", "", ""},
		"applied":                                              {[]edit{yes(infrav1.ReasonApplied, "Applied successfully: "+revision)}, "", "", "Applied"},
		"applied, with outputs":                                {[]edit{yes(infrav1.ReasonOutputsWritten, "Outputs written: "+revision)}, "", "", "Applied"},
		"destroyed":                                            {[]edit{destroys, yes(infrav1.ReasonApplied, "Destroy applied successfully: "+revision)}, "", "", "Destroyed"},
		"nothing to destroy":                                   {[]edit{destroys, noChanges, yes(infrav1.ReasonPlannedNoChanges, "No objects need to be destroyed: "+revision)}, "", "", "Nothing to destroy"},
		"nothing to change":                                    {[]edit{noChanges, yes(infrav1.ReasonPlannedNoChanges, "Plan no changes: "+revision)}, "", "", "No changes"},
		"nothing to change, with outputs":                      {[]edit{noChanges, yes(infrav1.ReasonOutputsWritten, "Outputs written: "+revision)}, "", "", "No changes"},
		"no drift":                                             {[]edit{noChanges, yes(infrav1.ReasonNoDrift, "No drift: "+revision)}, "", "", "No drift"},
		"a plan is made":                                       {[]edit{inHand, working(infrav1.MessagePlanning)}, "", "", "Planning"},
		"a plan is applied":                                    {[]edit{inHand, working(infrav1.MessageApplying)}, "", "", "Applying"},
		"an apply continues while suspended":                   {[]edit{inHand, suspended, working(infrav1.MessageApplying)}, "", "", "Applying"},
		"a drift check does not change the summary":            {[]edit{inHand, yes(infrav1.ReasonApplied, "Applied successfully: "+revision)}, "", "", "Applied"},
		"health checks run after an apply":                     {[]edit{working(infrav1.MessageCheckingHealth)}, "", "", "Checking health"},
		"the API refuses the state":                            {[]edit{inHand, working(run.WaitsForState + "quota")}, "", "", "State cannot be stored"},
		"suspended":                                            {[]edit{suspended, yes(infrav1.ReasonApplied, "Applied successfully: "+revision)}, "", "", "Suspended"},
		"suspended from the start":                             {[]edit{suspended}, "", "", "Suspended"},
		"held":                                                 {[]edit{saying(metav1.ConditionUnknown, infrav1.ReasonBreakTheGlass, "Held")}, "", "", "Held for manual work"},
		"a pending plan":                                       {pendingOf("+1 ~0 -0"), "", "", "Plan pending: +1 ~0 -0"},
		"a pending plan after a failed apply":                  {pendingOf("+120 ~7 -3", applyFailed), "", "", "Failed; pending +120 ~7 -3"},
		"a held plan after a failed apply":                     {pendingOf("+120 ~7 -13", heldBack, applyFailed), "", "", "Failed; held +120 ~7 -13"},
		"drift after a failed apply":                           {append(slices.Clone(drifted), applyFailed), "", "", "Failed; drifted +0 ~1 -0"},
		"a plan held by a circuit breaker":                     {pendingOf("+1 ~0 -0", heldBack), "", "", "Plan held: +1 ~0 -0"},
		"a plan that a rule holds":                             {pendingOf("+1 ~0 -1", judged(infrav1.PolicyHeld, finding("ClusterPolicy/safe", "no-destroy", "requireApproval"), finding("Policy/a/own", "x", "audit"))), "", "", "Held by safe/no-destroy: +1 ~0 -1"},
		"a plan that two rules hold":                           {pendingOf("+1 ~0 -1", judged(infrav1.PolicyHeld, finding("ClusterPolicy/safe", "no-iam", "warn"), finding("Policy/a/own", "no-iam", "warn"), finding("Policy/a/own", "b", "warn"))), "", "", "Held by b, no-iam: +1 ~0 -1"},
		"a plan that many rules hold":                          {pendingOf("+1 ~0 -1", judged(infrav1.PolicyHeld, finding("Policy/a/p", "a-long-name-of-a-rule", "warn"), finding("Policy/a/p", "another-long-name", "warn"))), "", "", "Held by 2 rules: +1 ~0 -1"},
		"a plan that a long rule holds":                        {pendingOf("+1 ~0 -1", judged(infrav1.PolicyHeld, finding("Policy/a/p", "a-very-long-name-of-a-rule-that-has-no-end", "warn"))), "", "", "Held by a-very-long-name-of-a-rule-…: +1 ~0 -1"},
		"a plan that is never freed":                           {pendingOf("+1 ~0 -0", judged(infrav1.PolicyHeld)), "", "", "Held by policy: +1 ~0 -0"},
		"a plan that no policy frees":                          {pendingOf("+1 ~0 -0", byPolicy, judged(infrav1.PolicyPassed)), "", "", "Waits for a person: +1 ~0 -0"},
		"a plan that a rule denies":                            {append(pendingOf("+1 ~0 -1", judged(infrav1.PolicyRefused, finding("ClusterPolicy/safe", "no-destroy", "deny"))), no(infrav1.ReasonPolicyRefused)), "", "", "Refused by safe/no-destroy: +1 ~0 -1"},
		"refused before a plan":                                {[]edit{no(infrav1.ReasonPolicyRefused)}, "", "", "Refused by policy"},
		"a rule holds, after a failure":                        {pendingOf("+1 ~0 -1", applyFailed, judged(infrav1.PolicyHeld, finding("ClusterPolicy/safe", "no-destroy", "warn"))), "", "", "Failed; held +1 ~0 -1"},
		"a deletion that a rule holds":                         {pendingOf("+0 ~0 -1", beingDeleted, judged(infrav1.PolicyHeld, finding("ClusterPolicy/safe", "no-destroy", "warn"))), "", "", "Deletion held by safe/no-destroy"},
		"a deletion that a rule denies":                        {append(pendingOf("+0 ~0 -1", beingDeleted, judged(infrav1.PolicyRefused, finding("ClusterPolicy/safe", "no-destroy", "deny"))), no(infrav1.ReasonPolicyRefused)), "", "", "Deletion refused by safe/no-destroy"},
		"a plan of a plan-only stack":                          {pendingOf("+1 ~0 -0", planOnly), "", "", "Planned: +1 ~0 -0"},
		"a plan was rejected":                                  {append(pendingOf("+1 ~0 -0"), no(infrav1.ReasonPlanRejected)), "", "", "Plan rejected"},
		"drift":                                                {drifted, "", "", "Drifted: +0 ~1 -0"},
		"a dependency is not ready":                            {[]edit{no(infrav1.ReasonDependencyNotReady)}, "dev/network", "", "Waiting for dev/network"},
		"a dependency in the same namespace, with a long name": {[]edit{no(infrav1.ReasonDependencyNotReady)}, "team/network-of-the-region", "", "Waiting for network-of-the-region"},
		"a dependency in another namespace, with a long name":  {[]edit{no(infrav1.ReasonDependencyNotReady)}, "platform-of-all-teams/network-of-the-region", "", "Waiting for platform-of-all-teams/network-of-th…"},
		"unknown dependencies":                                 {[]edit{no(infrav1.ReasonDependencyNotReady)}, "", "", "Waiting for dependencies"},
		"an outage":                                            {[]edit{paused, no(infrav1.ReasonPlanFailed)}, "", "aws-1", "Paused: aws-1"},
		"an apply failed":                                      {[]edit{no(infrav1.ReasonApplyFailed), applyFailed}, "", "", "Apply failed"},
		"an unknown reason":                                    {[]edit{no("Unheard")}, "", "", "Failed: Error: no"},
		"deleted":                                              {[]edit{beingDeleted, working(infrav1.MessageDeleting)}, "", "", "Deleting"},
		"deleted while suspended":                              {[]edit{beingDeleted, suspended}, "", "", "Deletion suspended"},
		"deleted while others depend on it":                    {[]edit{beingDeleted, no(infrav1.ReasonDeletionBlockedByDependants)}, "", "", "Deletion blocked"},
		"deleted while locked":                                 {[]edit{beingDeleted, no(infrav1.ReasonLockHeld)}, "", "", "Deleting: state locked"},
		"deleted with drift":                                   {append([]edit{beingDeleted}, drifted...), "", "", "Deleting"},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := summarize(situation{obj: stackObject(test.change...), blocker: test.blocker, circuit: test.circuit})
			room := maxSummary
			if strings.HasPrefix(got, "Failed; ") {
				room = roomForSummary
			}
			if got != test.want || utf8.RuneCountInString(got) > room {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// The word for a failure must fit into the table.
func TestFailuresHaveShortNames(t *testing.T) {
	for reason, word := range failures {
		if word == "" || utf8.RuneCountInString(word) > roomForSummary || strings.HasSuffix(word, ".") {
			t.Errorf("%s: %q", reason, word)
		}
	}
}

// A failed apply is shown until another succeeds or nothing is left to apply.
func TestFailedApplyIsShownUntilOneSucceeds(t *testing.T) {
	obj := stackObject(applying)
	record(obj, ran(run.OperationApply, failed(run.StepApply, "", true)))
	if ref := obj.Status.LastFailedApply; ref == nil || ref.ID != "r1" || ref.Status != "failed" {
		t.Fatalf("got %+v", ref)
	}
	record(obj, ran(run.OperationPlan, changes))
	record(obj, ran(run.OperationPlan, failed(run.StepPlan, "", false)))
	if obj.Status.LastFailedApply == nil {
		t.Error("a plan made it forgotten")
	}
	for sentence, end := range map[string]outcome{"an apply": ran(run.OperationApply, applied), "a plan without changes": ran(run.OperationPlan, noChanges)} {
		o := obj.DeepCopy()
		if record(o, end); o.Status.LastFailedApply != nil {
			t.Errorf("%s leaves the report", sentence)
		}
	}
	never := stackObject(applying)
	record(never, ran(run.OperationApply, failed(run.StepApply, run.FailureLocked, false)))
	if never.Status.LastFailedApply != nil {
		t.Error("an apply that never began counts as failed")
	}
}

// The summary names the stack to wait for, which only the decision knows.
func TestSummaryOfADecision(t *testing.T) {
	p := passOver(stackObject())
	d := decide.Decision{Verb: decide.VerbWait, Subject: "dev/network", Reason: decide.ReasonDependencyNotReady, Message: "dependency 'dev/network' is not ready", NextCheck: finished}
	p.describeAs(d)
	if got := p.summary(); got != "Waiting for dev/network" {
		t.Errorf("got %q", got)
	}
}

func byPolicy(t *infrav1.Terraform) { t.Spec.ApprovePlan = infrav1.ApprovePlanPolicy }

func finding(policy, rule, effect string) infrav1.PolicyFinding {
	return infrav1.PolicyFinding{Policy: policy, Rule: rule, Effect: effect, Address: "a.b", Message: "would be destroyed"}
}

// judged: the pending plan has this verdict.
func judged(d infrav1.PolicyDecision, findings ...infrav1.PolicyFinding) edit {
	return func(t *infrav1.Terraform) {
		t.Status.Plan.Policy = &infrav1.PolicyVerdict{Decision: d, Message: "ClusterPolicy/safe: no-destroy: a.b", Findings: findings, Plan: t.Status.Plan.Digest}
	}
}

func TestTheConditionPlanSaysWhatPoliciesMakeOfThePlan(t *testing.T) {
	generated := condition(infrav1.ConditionPlan, metav1.ConditionTrue, infrav1.ReasonPlannedWithChanges, infrav1.MessagePlanGenerated)
	for sentence, test := range map[string]struct {
		change []edit
		want   string
	}{
		"no policy":               {nil, "Plan generated"},
		"freed":                   {[]edit{judged(infrav1.PolicyFreed)}, "Plan generated"},
		"held":                    {[]edit{judged(infrav1.PolicyHeld)}, "Plan generated: waits for a person: ClusterPolicy/safe: no-destroy: a.b"},
		"refused":                 {[]edit{judged(infrav1.PolicyRefused)}, "Plan generated: refused by policy: ClusterPolicy/safe: no-destroy: a.b"},
		"passed":                  {[]edit{judged(infrav1.PolicyPassed)}, "Plan generated"},
		"passed, in mode policy":  {[]edit{byPolicy, judged(infrav1.PolicyPassed)}, "Plan generated: waits for a person: ClusterPolicy/safe: no-destroy: a.b"},
		"another plan was judged": {[]edit{judged(infrav1.PolicyHeld), func(t *infrav1.Terraform) { t.Status.Plan.Digest = "sha256:new" }}, "Plan generated"},
		"approved":                {[]edit{judged(infrav1.PolicyHeld), func(t *infrav1.Terraform) { t.Status.Plan.Approved = true }}, "Plan generated"},
	} {
		obj := stackObject(append(pendingOf("+1 ~0 -0", generated), test.change...)...)
		if describePlanByPolicy(obj); conditions.Of(obj, infrav1.ConditionPlan).Message != test.want {
			t.Errorf("%s: %q, want %q", sentence, conditions.Of(obj, infrav1.ConditionPlan).Message, test.want)
		}
	}
}

func condition(kind string, status metav1.ConditionStatus, reason, message string) edit {
	return func(t *infrav1.Terraform) { setCondition(t, kind, status, reason, message) }
}
