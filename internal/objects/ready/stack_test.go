// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ready

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// TestFieldsOfStacks builds stacks from their Go type, so that a field that is called otherwise here is found out.
func TestFieldsOfStacks(t *testing.T) {
	for sentence, test := range map[string]struct {
		change func(s *infrav1.Terraform)
		want   string
	}{
		"applied":                    {func(*infrav1.Terraform) {}, "ready"},
		"changed since":              {func(s *infrav1.Terraform) { s.Generation++ }, "NotObserved: its controller has not seen generation 4 yet"},
		"a plan waits":               {func(s *infrav1.Terraform) { s.Status.Plan.Pending = "plan-1" }, "PlanPending: the plan plan-1 waits for approval; approve it with yuba approve vpc -n a"},
		"stopped before it was made": {func(s *infrav1.Terraform) { s.Spec.Suspend, s.Status = true, infrav1.TerraformStatus{} }, "Suspended: spec.suspend is true; resume it with yuba resume vpc -n a"},
		"never applied":              {func(s *infrav1.Terraform) { s.Status.LastAppliedRevision = "" }, "NotApplied: the stack is planned, but not applied yet"},
		"an inventory": {func(s *infrav1.Terraform) {
			s.Status.LastAppliedRevision, s.Status.Inventory = "", &infrav1.ResourceInventory{Entries: []infrav1.ResourceRef{{Name: "a", Type: "b", Identifier: "c"}}}
		}, "ready"},
		"only planned": {func(s *infrav1.Terraform) { s.Status.LastAppliedRevision, s.Spec.PlanOnly = "", true }, "NeverApplies: the stack only makes plans: spec.planOnly is true, or spec.approvePlan is disable"},
		"only looked at": {func(s *infrav1.Terraform) {
			s.Status.LastAppliedRevision, s.Spec.ApprovePlan = "", infrav1.ApprovePlanDisable
		}, "NeverApplies: the stack only makes plans: spec.planOnly is true, or spec.approvePlan is disable"},
		"destroyed": {func(s *infrav1.Terraform) { s.Status.LastAppliedRevision, s.Spec.Destroy = "", true }, "ready"},
		"nothing to do": {func(s *infrav1.Terraform) {
			s.Status.LastAppliedRevision = ""
			s.Status.Conditions = append(s.Status.Conditions, metav1.Condition{Type: infrav1.ConditionPlan, Status: metav1.ConditionFalse, Reason: infrav1.ReasonPlannedNoChanges})
		}, "ready"},
		"nothing to do, and outputs that somebody waits for": {func(s *infrav1.Terraform) {
			s.Status.LastAppliedRevision = ""
			s.Spec.WriteOutputsToSecret = &infrav1.WriteOutputsToSecretSpec{Name: "outputs"}
			s.Status.Conditions = append(s.Status.Conditions, metav1.Condition{Type: infrav1.ConditionPlan, Status: metav1.ConditionFalse, Reason: infrav1.ReasonPlannedNoChanges})
		}, "NotApplied: the stack is planned, but not applied yet"},
		"nothing to do, and outputs that were there": {func(s *infrav1.Terraform) {
			s.Status.LastAppliedRevision, s.Status.OutputsDigest = "", "sha256:o"
			s.Spec.WriteOutputsToSecret = &infrav1.WriteOutputsToSecretSpec{Name: "outputs"}
			s.Status.Conditions = append(s.Status.Conditions, metav1.Condition{Type: infrav1.ConditionPlan, Status: metav1.ConditionFalse, Reason: infrav1.ReasonPlannedNoChanges})
		}, "ready"},
		"given up": {func(s *infrav1.Terraform) {
			s.Status.Conditions[0].Status, s.Status.Conditions[0].Reason = metav1.ConditionFalse, infrav1.ReasonPlanFailed
			s.Status.Conditions = append(s.Status.Conditions, metav1.Condition{Type: infrav1.ConditionStalled, Status: metav1.ConditionTrue, Reason: infrav1.ReasonRetryLimitReached, Message: "three times"})
		}, "failed: RetryLimitReached: three times"},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := &infrav1.Terraform{
				TypeMeta:   metav1.TypeMeta{APIVersion: infrav1.GroupVersion.String(), Kind: infrav1.Kind},
				ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "vpc", Generation: 3},
				Status: infrav1.TerraformStatus{ObservedGeneration: 3, LastAppliedRevision: "main@sha1:1", Conditions: []metav1.Condition{
					{Type: infrav1.ConditionReady, Status: metav1.ConditionTrue, Reason: infrav1.ReasonApplied, ObservedGeneration: 3}}},
			}
			test.change(s)
			fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, of(Of(&unstructured.Unstructured{Object: fields}, false))); diff != "" {
				t.Error(diff)
			}
		})
	}
}
