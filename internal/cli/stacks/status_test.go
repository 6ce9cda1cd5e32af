// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// stackThat is a stack named team/vpc that differs from an idle one as the changes say.
func stackThat(changes ...func(*infrav1.Terraform)) *infrav1.Terraform {
	t := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "vpc"}}
	t.Status.ObservedGeneration = 1
	for _, change := range changes {
		change(t)
	}
	return t
}

func ready(status metav1.ConditionStatus, reason, message string) func(*infrav1.Terraform) {
	return func(t *infrav1.Terraform) {
		t.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: status, Reason: reason, Message: message,
			LastTransitionTime: metav1.NewTime(noon.Add(-3 * time.Minute))}}
	}
}

func pending(id string) func(*infrav1.Terraform) {
	return func(t *infrav1.Terraform) {
		at := metav1.NewTime(noon.Add(-2 * time.Hour))
		t.Status.Plan.Pending, t.Status.Plan.Summary, t.Status.LastPlanAt = id, "+1 ~2 -0", &at
	}
}

func lastRun(id, outcome string) func(*infrav1.Terraform) {
	return func(t *infrav1.Terraform) {
		t.Status.LastRun = &infrav1.RunReference{ID: id, Operation: "apply", Status: outcome}
	}
}

func TestStatusTellsWhatKeepsAStack(t *testing.T) {
	for sentence, c := range map[string]struct {
		condition metav1.Condition
		want      string
	}{
		"a dependency": {metav1.Condition{Type: infrav1.ConditionReconciling, Status: metav1.ConditionTrue, Reason: infrav1.ReasonDependencyNotReady, Message: "dependency net is not ready"},
			"Ready       no, since 3m\n            told\n            dependency net is not ready\n"},
		"attempts that are used up": {metav1.Condition{Type: infrav1.ConditionStalled, Status: metav1.ConditionTrue, Reason: infrav1.ReasonRetryLimitReached, Message: infrav1.MessageRetryLimit},
			"Ready       no, since 3m\n            told\n            Resource reached maximum number of retries.\n"},
		"the very thing that Ready tells": {metav1.Condition{Type: infrav1.ConditionStalled, Status: metav1.ConditionTrue, Reason: infrav1.ReasonDependencyCycle, Message: "told"},
			"Ready       no, since 3m\n            told\n"},
		"work that is under way": {metav1.Condition{Type: infrav1.ConditionReconciling, Status: metav1.ConditionTrue, Reason: infrav1.ReasonProgressing, Message: "planning"},
			"Ready       no, since 3m\n            told\n"},
	} {
		stack := stackThat(ready(metav1.ConditionFalse, "X", "told"))
		stack.Status.Conditions = append(stack.Status.Conditions, c.condition)
		var b bytes.Buffer
		(&statusView{Labels: ui.Labels{Writer: &b, Now: noon}, t: stack, paint: func(_, text string) string { return text }}).ready()
		if diff := cmp.Diff(c.want, b.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", sentence, diff)
		}
	}
}

// A stack that waits for another one has not failed.
func TestAStackThatWaitsIsNotCalledWrong(t *testing.T) {
	var b bytes.Buffer
	stack := stackThat(ready(metav1.ConditionFalse, infrav1.ReasonDependencyNotReady, "dependency 'team/net' is not ready"))
	(&statusView{Labels: ui.Labels{Writer: &b, Now: noon}, t: stack, paint: func(color, text string) string { return color + text }}).ready()
	if want := "Ready       " + ui.ColorYellow + "not yet, since 3m\n            dependency 'team/net' is not ready\n"; b.String() != want {
		t.Errorf("got %q", b.String())
	}
}

func TestStatusIsOneScreen(t *testing.T) {
	stack := stackThat(ready(metav1.ConditionFalse, infrav1.ReasonDriftDetected, "Drift detected.\n\n  ~ a\x1b[31m"), pending("p1"), lastRun("r1", "succeeded"))
	stack.Spec.SourceRef = &infrav1.CrossNamespaceSourceReference{Kind: "ExternalArtifact", Name: "vpc"}
	stack.Spec.Path, stack.Spec.Workspace = "./infra", "prod"
	stack.Status.Plan.IsDriftDetectionPlan = true
	stack.Status.LastFailedApply = &infrav1.RunReference{ID: "r0", Status: "failed"}
	stack.Status.LastAttemptedRevision = "latest@sha256:0123456789abcdef"
	stack.Status.LastAppliedRevision = "latest@sha256:fedcba9876543210"
	stack.Status.AvailableOutputs = []string{"id", "name"}
	stack.Status.Warnings = []string{`variable "x" is not declared`}
	var b bytes.Buffer
	(&statusView{Labels: ui.Labels{Writer: &b, Now: noon}, t: stack, call: "team/vpc", paint: func(_, text string) string { return text }}).show()
	want := `Stack       team/vpc
Ready       no, since 3m
            Drift detected.

              ~ a\u001b[31m
Plan        p1 waits for approval: +1 ~2 -0, repairs drift, 2h ago
Last apply  failed; see yuba logs team/vpc --run r0
Last run    r1 (apply) succeeded
Source      ExternalArtifact/vpc, directory ./infra
Revision    latest@sha256:0123456789 (last applied latest@sha256:fedcba9876)
Workspace   prod
Outputs     id, name
Warning     variable "x" is not declared

Next:
    yuba plan team/vpc
    yuba approve team/vpc p1
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}
