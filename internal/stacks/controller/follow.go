// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// follow keeps what is made of plans and states in step with them: outputs, readable plans, the inventory and the look
// at what answers. Outputs come first, for checks use them.
func (r *Reconciler) follow(ctx context.Context, p *acted) error {
	return inTurn(ctx, p, r.ensureOutputs, r.ensureReadable, r.ensureInventory, r.weighUnproven, r.ensureHealth)
}

// askFor has a run bring what follows it.
func askFor(s *run.Spec, obj *infrav1.Terraform, announced bool) {
	s.Review = len(activeWebhooks(obj)) > 0
	form := readableForm(obj)
	s.PlanText = form == readableHuman
	s.PlanDocument = form == readableJSON || s.Review
	s.Describe = s.Describe || s.PlanText || s.PlanDocument
	// ReadOutputs stands for a state that only the tool can read.
	s.ReadResources = s.ReadOutputs && obj.Spec.EnableInventory
	s.ListState = s.ReadOutputs && obj.Status.Unproven != nil
	s.ReadUnchanged = s.ReadOutputs && (s.ReadResources && obj.Status.Inventory == nil ||
		announced && obj.Status.OutputsDigest == "")
}
