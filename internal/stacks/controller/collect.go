// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// collect reads the runs that ended since the last pass, and continues a run of an earlier server.
func (h runHistory) collect(ctx context.Context, begun *pass) (*collected, error) {
	p := &collected{pass: *begun}
	if ref := p.obj.Status.CurrentRun; ref != nil {
		rec, err := h.runs.Resume(ctx, p.stack, ref.ID)
		switch {
		case errors.Is(err, run.ErrNotFound):
			return p, h.takeMissing(ctx, p, ref, err)
		case errors.Is(err, run.ErrDamaged):
			return p, h.takeDamaged(ctx, p, ref, err)
		case err != nil:
			return nil, err
		case rec.Result != nil:
			h.take(ctx, p, rec)
			p.taken, p.over = rec.Spec.ID, &rec
		}
		return p, nil
	}
	rec, ok := h.runs.TakeEnded(p.stack)
	if !ok {
		return p, nil
	}
	if worthRecording(p.obj, rec) {
		h.take(ctx, p, rec)
	} else {
		leaveTrace(p.obj, rec)
	}
	p.taken, p.over = rec.Spec.ID, &rec
	return p, nil
}

// takeMissing drops a run that has no record because the server ended between naming it and putting
// it on record. If its apply had begun, the record was lost.
func (h runHistory) takeMissing(ctx context.Context, p *collected, ref *infrav1.RunReference, cause error) error {
	began := ref.Status == "applying"
	if !began && !p.obj.KeepsOwnState() {
		holder, err := h.states.HolderNow(ctx, stateKeyOf(p.obj))
		if err != nil {
			return err
		}
		began = holder != nil && holder.ID == ref.ID
	}
	if began {
		return h.takeDamaged(ctx, p, ref, cause)
	}
	p.obj.Status.CurrentRun = nil
	h.log.Info("a run never began", "stack", p.stack.String(), "run", ref.ID)
	return nil
}

// takeDamaged gives up a run whose record is lost: a fresh plan finds what it did. Its lock, under
// its own id, is held until the possible leftovers are recorded.
func (h runHistory) takeDamaged(ctx context.Context, p *collected, ref *infrav1.RunReference, cause error) error {
	known := p.known(ref)
	known.Result = &run.Result{Outcome: run.OutcomeInterrupted, Class: run.FailureKilled, Finished: p.now, Error: fmt.Sprintf(
		"The outcome of run %s is unknown: %s. Yuba plans again before it applies anything.", ref.ID, cause),
		ApplyStarted: known.Spec.Operation == run.OperationApply || known.Spec.Operation == run.OperationPlanAndApply}
	rec, err := h.runs.Salvage(ctx, known)
	if err != nil {
		return err
	}
	if !p.obj.KeepsOwnState() {
		var others *state.LockedError
		if err := h.states.Unlock(ctx, stateKeyOf(p.obj), ref.ID); err != nil && !errors.As(err, &others) {
			return err
		}
	}
	h.take(ctx, p, rec)
	p.taken = ref.ID
	return nil
}

// worthRecording reports whether a run found something new. No changes on a stack without changes
// are not new, nor are the changes of the pending plan.
func worthRecording(obj *infrav1.Terraform, rec run.Record) bool {
	status, result := &obj.Status, rec.Result
	if result.Outcome == run.OutcomeCanceled {
		return false
	}
	if result.Outcome != run.OutcomeSucceeded || result.Plan == nil || !about(rec, status.ConfigDigest) {
		return true
	}
	if learnsBackend(obj, rec) {
		return true
	}
	if result.Plan.Changes {
		return status.Plan.Pending == "" || result.Plan.ChangesDigest != status.Plan.ChangesDigest
	}
	if result.Resources != nil && obj.Status.Inventory == nil {
		return true
	}
	ready := conditions.Of(obj, infrav1.ConditionReady)
	return status.Plan.Pending != "" || ready.Status != metav1.ConditionTrue && !heldByHealth(ready)
}

func (h runHistory) take(ctx context.Context, p *collected, rec run.Record) {
	if rec.Spec.Operation.ByHand() {
		takeByHand(p, rec)
		p.moved = mayHaveMoved(rec)
		return
	}
	learnBackend(p.obj, rec)
	o := outcome{rec: rec}
	if result := rec.Result; result.Plan != nil && result.Plan.Changes && !result.Applied && rec.Spec.Describe {
		o.planText = h.planText(ctx, p.stack, rec)
	}
	record(p.obj, o)
	if listsUnproven(rec.Result) {
		p.notes = append(p.notes, note{warning: true, reason: infrav1.ReasonApplyCutOff, action: "Apply", message: unprovenMessage(p.obj)})
	}
	if drifted(rec) && rec.Result.Applied {
		p.notes = append(p.notes, note{warning: true, reason: infrav1.ReasonDriftDetected, action: "Repair", message: repaired(rec.Result.Plan)})
	}
	if !rec.Result.SameModules { // which changed nothing visible
		p.ended = &rec
	}
}

// repaired describes drift that was repaired automatically, which no condition reports.
func repaired(p *run.PlanResult) string {
	if p == nil || len(p.Drift) == 0 {
		return "Drift was repaired"
	}
	return "Drift was repaired. Changed outside of the stack:\n  " + strings.Join(p.Drift, "\n  ")
}

// planText renders the readable plan. If it cannot be read, the text says so, because the result of
// the run matters more.
func (h runHistory) planText(ctx context.Context, stack run.Stack, rec run.Record) string {
	data, err := h.runs.ReadPlan(ctx, stack, rec.Spec.ID)
	if err == nil {
		var redacted *plan.Plan
		if redacted, err = plan.Decode(data); err == nil {
			return plan.Render(redacted, plan.RenderOptions{})
		}
	}
	h.log.Warn("the readable plan cannot be read", "stack", stack.String(), "run", rec.Spec.ID, "error", err)
	return fmt.Sprintf("Plan: %s. See `yuba plan %s -n %s`.", plan.Counts(rec.Result.Plan.Counts).Summary(), stack.Name, stack.Namespace)
}
