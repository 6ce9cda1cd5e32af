// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"slices"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
)

// listedFindings is the limit of the findings in a verdict.
const listedFindings = 50

// renameUnseen gives the pending plan another id if it has the id of an earlier plan, in which policies
// did not find what they find now: equal changes can come from another program, and who named the id
// has not seen that.
func renameUnseen(obj *infrav1.Terraform, rec run.Record, before *infrav1.PolicyVerdict) {
	plan := &obj.Status.Plan
	if before == nil || before.Plan == plan.Digest || before.NeedsPlan || !unseen(before, plan.Policy) {
		return
	}
	history := decide.PlanHistory{Base: plan.Base, Sequence: int(plan.Sequence), Applied: plan.LastApplied,
		Named: cmp.Or(approvedByName(obj), obj.Spec.ApprovePlan)}
	id, history := decide.NamePlan(history, cmp.Or(rec.Spec.Artifact.Revision, obj.Status.LastPlannedRevision), plan.ChangesDigest)
	plan.Pending, plan.Base, plan.Sequence = id, history.Base, int32(history.Sequence) //nolint:gosec // small
}

// unseen reports whether a verdict has findings that another one does not have. A verdict lists only
// some of many findings, and its message counts them.
func unseen(before, now *infrav1.PolicyVerdict) bool {
	for _, f := range now.Findings {
		if f.Effect != string(yubav1.PolicyAudit) && !slices.Contains(before.Findings, f) {
			return true
		}
	}
	return len(now.Findings) >= listedFindings && now.Message != before.Message
}
