// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// stackLike is a stack with a status; changes adapt it.
func stackLike(changes ...func(*infrav1.Terraform)) *infrav1.Terraform {
	t := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
	t.Status.ObservedGeneration, t.Status.ConfigDigest, t.Status.LastRun = 2, "sha256:a", &infrav1.RunReference{ID: "r1", Status: "succeeded"}
	readyIs("True", "TerraformOutputsWritten")(t)
	for _, change := range changes {
		change(t)
	}
	return t
}

func readyIs(status metav1.ConditionStatus, reason string) func(*infrav1.Terraform) {
	return func(t *infrav1.Terraform) {
		t.Status.Conditions = []metav1.Condition{{Type: infrav1.ConditionReady, Status: status, Reason: reason, Message: "message"}}
	}
}

func ran(id string) func(*infrav1.Terraform) {
	return func(t *infrav1.Terraform) { t.Status.LastRun = &infrav1.RunReference{ID: id, Status: "succeeded"} }
}

func unproven(t *infrav1.Terraform) { t.Status.ConfigDigest = "" }

func pendingPlan(t *infrav1.Terraform) {
	t.Status.Plan.Pending = "plan-1"
	readyIs("Unknown", infrav1.ReasonPlannedWithChanges)(t)
}

func TestJudge(t *testing.T) {
	before := stackLike()
	failing := stackLike(readyIs("False", "TFExecApplyFailed"))
	for sentence, c := range map[string]struct {
		before, now *infrav1.Terraform
		want        string
	}{
		"no pass yet":                               {before, stackLike(func(t *infrav1.Terraform) { t.Generation = 3 }), PassUnknown},
		"a run in progress":                         {before, stackLike(func(t *infrav1.Terraform) { t.Status.CurrentRun = &infrav1.RunReference{ID: "r2"} }), PassUnknown},
		"waiting for a dependency":                  {before, stackLike(readyIs("False", infrav1.ReasonDependencyNotReady)), PassUnknown},
		"waiting for the source":                    {before, stackLike(readyIs("False", infrav1.ReasonArtifactFailed)), PassUnknown},
		"nothing ran":                               {before, stackLike(), PassUnchanged},
		"the plan still waits":                      {stackLike(pendingPlan), stackLike(pendingPlan), PassPending},
		"a plan found nothing":                      {before, stackLike(ran("r2")), PassNoChanges},
		"a plan found changes":                      {before, stackLike(ran("r2"), pendingPlan), PassAttention},
		"an approved plan was applied":              {stackLike(pendingPlan), stackLike(ran("r2"), func(t *infrav1.Terraform) { t.Status.Plan.LastApplied = "plan-1" }), PassApplied},
		"it fails as before":                        {failing, stackLike(readyIs("False", "TFExecApplyFailed")), PassUnchanged},
		"it fails as before, but nothing is proven": {stackLike(readyIs("False", "TFExecApplyFailed"), unproven), stackLike(readyIs("False", "TFExecApplyFailed"), unproven), PassAttention},
		"it waits for a dependency as before":       {stackLike(readyIs("False", infrav1.ReasonDependencyNotReady)), stackLike(readyIs("False", infrav1.ReasonDependencyNotReady)), PassUnchanged},
		"it fails otherwise":                        {before, stackLike(readyIs("False", "StateMissing")), PassAttention},
		"a configuration that is not proven":        {before, stackLike(func(t *infrav1.Terraform) { t.Status.ConfigDigest = "" }, readyIs("Unknown", "Other")), PassAttention},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got, message := judge(c.before, c.now); got != c.want {
				t.Errorf("%s (%s), want %s", got, message, c.want)
			}
		})
	}
}

func TestSummaryCountsWhatIsNotKnown(t *testing.T) {
	stacks := []StackSummary{{Pass: PassUnchanged}, {Pass: PassUnknown}, {Pass: PassUnknown}}
	if got := (Summary{Stacks: stacks, Waited: true}).Open(); got != 2 {
		t.Errorf("%d are open", got)
	}
	if got := (Summary{Stacks: stacks}).Open(); got != 0 {
		t.Errorf("nobody waited, and %d are open", got)
	}
}

func TestPatienceGrowsWithTheNumberOfStacks(t *testing.T) {
	if one, many := patienceFor(time.Minute, 1), patienceFor(time.Minute, 100); one >= many || many < 5*time.Minute {
		t.Errorf("%s for one stack, %s for 100", one, many)
	}
}
