// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
	"github.com/yuba-dev/yuba/internal/stacks/plans"
)

// follow updates everything that depends on plans and states: outputs, readable plans, inventory,
// health checks. Outputs come first, because checks use them. Of a stack that moves it updates nothing:
// "yuba move" copies the outputs before the state, so they would be set back to the former state's.
func (r *Reconciler) follow(ctx context.Context, p *acted) error {
	if p.facts.Stack.Moved != nil {
		return nil
	}
	return inTurn(ctx, p, outputsWriterOf(r).ensureOutputs, contractsOf(r).ensurePublished, r.ensureReadable, r.ensureInventory, leftoversOf(r).weighUnproven, healthChecksOf(r).ensureHealth)
}

// askFor requests the results from a run that follow needs.
func askFor(s *run.Spec, obj *infrav1.Terraform, announced bool) {
	s.Review = len(obj.ActiveWebhooks()) > 0
	form := obj.ReadablePlanForm()
	s.PlanText = form == infrav1.ReadablePlanHuman
	s.PlanDocument = form == infrav1.ReadablePlanJSON || s.Review
	s.Describe = s.Describe || s.PlanText || s.PlanDocument
	// ReadOutputs is set if only the tool can read the state.
	s.ReadResources = s.ReadOutputs && obj.Spec.EnableInventory
	s.ListState = s.ReadOutputs && obj.Status.Unproven != nil
	s.ReadUnchanged = s.ReadOutputs && (s.ReadResources && obj.Status.Inventory == nil ||
		announced && obj.Status.OutputsDigest == "")
}

// ensureReadable replaces the stored plan with the plan of this pass, as the object requests.
func (r *Reconciler) ensureReadable(ctx context.Context, p *acted) error {
	obj, want := p.obj, p.obj.ReadablePlanForm()
	store := plans.Store{Client: r.Client, Reader: r.Reader}
	if had := obj.Status.Plan.Readable; had != "" && had != want {
		if err := store.Drop(ctx, obj, had); err != nil {
			return err
		}
		obj.Status.Plan.Readable = ""
	}
	if want == "" || p.ended == nil || p.ended.Result.Plan == nil || p.ended.Result.Class.Refused() {
		return nil
	}
	part := run.BlobPlanText
	if want == infrav1.ReadablePlanJSON {
		part = run.BlobPlanShow
	}
	data, err := r.Runs.ReadPart(ctx, p.stack, p.ended.Spec.ID, part)
	if errors.Is(err, run.ErrNotFound) {
		return nil // it applied another run's plan, or the field was unset when it began
	}
	if err != nil {
		return err
	}
	if err := store.Put(ctx, obj, planOf(&p.collected), data); err != nil {
		if !plans.Refused(err) {
			return err
		}
		// A plan that the API refuses to store blocks nothing.
		p.notes = append(p.notes, note{warning: true, reason: "Warning", action: "StorePlan", message: err.Error()})
		return nil
	}
	obj.Status.Plan.Readable = want
	return nil
}

// planOf is the id of the recorded plan: pending, applied, or, without changes, its would-be id.
func planOf(p *collected) string {
	status := &p.obj.Status.Plan
	switch result := p.ended.Result; {
	case status.Pending != "":
		return status.Pending
	case result.Applied && status.LastApplied != "":
		return status.LastApplied
	}
	return decide.BasePlanID(p.ended.Spec.Artifact.Revision)
}
