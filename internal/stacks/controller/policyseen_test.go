// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"testing"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

func TestAPlanWithOtherFindingsHasAnotherID(t *testing.T) {
	destroy := infrav1.PolicyFinding{Policy: "Policy/n/p", Rule: "no-destroy", Address: "aws_db.a", Message: "would be destroyed", Effect: "requireApproval"}
	program := infrav1.PolicyFinding{Policy: "Policy/n/p", Rule: "no-provisioners", Address: "aws_db.b", Message: "has local-exec", Effect: "requireApproval"}
	audited := program
	audited.Effect = "audit"
	verdict := func(plan, message string, findings ...infrav1.PolicyFinding) *infrav1.PolicyVerdict {
		return &infrav1.PolicyVerdict{Decision: infrav1.PolicyHeld, Plan: plan, Message: message, Findings: findings}
	}
	var many []infrav1.PolicyFinding
	for i := range listedFindings {
		f := destroy
		f.Address = fmt.Sprintf("aws_db.a[%d]", i)
		many = append(many, f)
	}
	early := verdict("sha256:1", "too large")
	early.NeedsPlan = true
	const old, next = "plan-main-1a2b3c4d5e", "plan-main-ffffffffff"
	for sentence, c := range map[string]struct {
		before, now *infrav1.PolicyVerdict
		want        string
	}{
		"the same findings": {verdict("sha256:1", "", destroy), verdict("sha256:2", "", destroy), old},
		"one less":          {verdict("sha256:1", "", destroy, program), verdict("sha256:2", "", destroy), old},
		"the approving commit adds a provisioner":        {verdict("sha256:1", "", destroy), verdict("sha256:2", "", destroy, program), next},
		"of two policies, the other one finds it, too":   {verdict("sha256:1", "", destroy), verdict("sha256:2", "", destroy, infrav1.PolicyFinding{Policy: "ClusterPolicy/q", Rule: "no-destroy"}), next},
		"a policy in audit mode finds something":         {verdict("sha256:1", "", destroy), verdict("sha256:2", "", destroy, audited), old},
		"other policies judge the same bytes":            {verdict("sha256:2", "", destroy), verdict("sha256:2", "", destroy, program), old},
		"nothing was judged before":                      {nil, verdict("sha256:2", "", destroy), old},
		"the earlier plan could not be judged":           {early, verdict("sha256:2", "", destroy), old},
		"as many findings as are listed":                 {verdict("sha256:1", "no-destroy (and 60 more)", many...), verdict("sha256:2", "no-destroy (and 60 more)", many...), old},
		"one more finding than before that nobody lists": {verdict("sha256:1", "no-destroy (and 60 more)", many...), verdict("sha256:2", "no-destroy (and 61 more)", many...), next},
	} {
		t.Run(sentence, func(t *testing.T) {
			obj := &infrav1.Terraform{}
			obj.Spec.ApprovePlan = old
			obj.Status.Plan = infrav1.PlanStatus{Pending: old, Base: old, Sequence: 1, Digest: "sha256:2", ChangesDigest: "sha256:c", Policy: c.now}
			renameUnseen(obj, run.Record{Spec: run.Spec{Artifact: run.Artifact{Revision: "main@sha1:ffffffffff"}}}, c.before)
			if got := obj.Status.Plan.Pending; got != c.want {
				t.Errorf("the plan's id is %s, want %s", got, c.want)
			}
		})
	}
	obj := &infrav1.Terraform{}
	obj.Status.Plan = infrav1.PlanStatus{Pending: old, Base: old, Sequence: 1, Digest: "sha256:2", Policy: verdict("sha256:2", "", program)}
	renameUnseen(obj, run.Record{Spec: run.Spec{Artifact: run.Artifact{Revision: "main@sha1:1a2b3c4d5e"}}}, verdict("sha256:1", ""))
	if p := obj.Status.Plan; p.Pending != old+"-2" || p.Sequence != 2 {
		t.Errorf("another plan of the same revision is %s, the %dth", p.Pending, p.Sequence)
	}
}
