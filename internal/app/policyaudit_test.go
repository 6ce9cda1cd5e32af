// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"strings"
	"testing"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

func TestWhatCannotBeApproved(t *testing.T) {
	for sentence, test := range map[string]struct {
		change func(*infrav1.Terraform)
		plan   string
		want   string
	}{
		"a held plan can":            {func(*infrav1.Terraform) {}, "plan-1", ""},
		"nothing is pending":         {func(o *infrav1.Terraform) { o.Status.Plan.Pending = "" }, "plan-1", "no plan waits"},
		"another plan is pending":    {func(*infrav1.Terraform) {}, "plan-0", "the pending plan is plan-1"},
		"it was rejected":            {func(o *infrav1.Terraform) { o.Annotations = map[string]string{infrav1.AnnotationRejected: "plan-1"} }, "plan-1", "was rejected"},
		"no policy has judged it":    {func(o *infrav1.Terraform) { o.Status.Plan.Policy = nil }, "plan-1", "spec.approvePlan"},
		"other bytes were judged":    {func(o *infrav1.Terraform) { o.Status.Plan.Digest = "sha256:new" }, "plan-1", "no policy has judged"},
		"policies refuse it":         {func(o *infrav1.Terraform) { o.Status.Plan.Policy.Decision = infrav1.PolicyRefused }, "plan-1", "no approval overrides"},
		"it was judged anew":         {func(o *infrav1.Terraform) { o.Status.Plan.Policy.Bound = "sha256:other" }, "plan-1", "judged anew"},
		"it is being applied":        {func(o *infrav1.Terraform) { o.Status.Plan.Approved = true }, "plan-1", "is being applied"},
		"it has too many approvals":  {func(o *infrav1.Terraform) { o.Status.Plan.Approvals = make([]infrav1.PlanApproval, maxApprovals) }, "plan-1", "50 approvals"},
		"what a policy freed can be": {func(o *infrav1.Terraform) { o.Status.Plan.Policy.Decision = infrav1.PolicyPassed }, "plan-1", ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			obj := &infrav1.Terraform{}
			obj.Status.Plan = infrav1.PlanStatus{Pending: "plan-1", Digest: "sha256:plan",
				Policy: &infrav1.PolicyVerdict{Decision: infrav1.PolicyHeld, Plan: "sha256:plan", Bound: "sha256:seen"}}
			test.change(obj)
			got := whyNotApprove(obj, test.plan, "sha256:seen")
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want … %s", got, test.want)
			}
		})
	}
}
