// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"context"
	"errors"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// withStanding adds to a readable plan its id and status.
func (h *Handler) withStanding(ctx context.Context, obj *infrav1.Terraform, id string, document []byte) ([]byte, error) {
	stack := run.StackOf(obj)
	rec, err := h.Runs.Record(ctx, stack, id)
	if errors.Is(err, run.ErrNotFound) || errors.Is(err, run.ErrDamaged) {
		return document, nil // the plan itself is available, which is what the client requested
	}
	if err != nil {
		return nil, err
	}
	var applies []run.Record
	if id != obj.Status.Plan.RunID {
		if applies, err = h.Runs.List(ctx, stack, planSearch); err != nil {
			return nil, err
		}
	}
	return plan.WithStanding(document, standing(obj, rec, applies))
}

// standing returns the status of the plan that a run made. runs are the stack's runs, newest first,
// and may include one that applied it.
func standing(obj *infrav1.Terraform, made run.Record, runs []run.Record) plan.Standing {
	s := plan.Standing{State: plan.StateSuperseded, Run: made.Spec.ID, Revision: made.Spec.Artifact.Revision}
	if made.Result != nil {
		s.Made, s.Notices = made.Result.Finished, made.Result.Notices
	}
	pending := obj.Status.Plan
	switch {
	case pending.Pending != "" && pending.RunID == made.Spec.ID:
		s.ID, s.State = pending.Pending, plan.StatePending
		if pending.Approved || obj.Spec.ApprovePlan == pending.Pending {
			s.State = plan.StateApproved
		}
		if obj.Annotations[infrav1.AnnotationRejected] == pending.Pending {
			s.State = plan.StateRejected
		}
		return s
	case made.Result == nil || made.Result.Plan == nil:
		return s
	case !made.Result.Plan.Changes:
		s.State = plan.StateUnchanged
		return s
	case made.Result.Class.Refused():
		s.State = plan.StateRefused
		return s
	case made.Result.ApplyStarted:
		applied(&s, made)
		return s
	}
	for _, rec := range runs {
		if p := rec.Spec.Plan; p != nil && p.RunID == made.Spec.ID && (rec.Result == nil || rec.Result.ApplyStarted) {
			s.ID = p.ID
			applied(&s, rec)
			return s
		}
	}
	return s
}

// applied sets the status of a plan from the run that applied it.
func applied(s *plan.Standing, by run.Record) {
	s.ApplyRun, s.State = by.Spec.ID, plan.StateApproved
	if by.Result == nil {
		return
	}
	s.ApplyEnded, s.State = by.Result.Finished, plan.StateApplyFailed
	if by.Result.Applied {
		s.State = plan.StateApplied
	}
}
