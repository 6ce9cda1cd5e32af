// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
)

// holdForPullRequest makes every plan wait for an approval of exactly that plan: what was reviewed in
// the pull request is what is applied, and so is the way back.
func holdForPullRequest(s *decide.Stack, obj *infrav1.Terraform) {
	h := obj.PullRequestHold()
	if h == nil || s.Deleting {
		return
	}
	s.PullRequest, s.Force = h.String(), false
	if s.Mode != decide.ModeDisabled {
		s.Mode = decide.ModeManual
	}
}

// namedForPullRequest reports whether somebody approved exactly the plan that a run applies.
func namedForPullRequest(obj *infrav1.Terraform, rec run.Record) bool {
	id := ""
	if rec.Spec.Plan != nil {
		id = rec.Spec.Plan.ID
	}
	if id == "" || obj.Status.Plan.Pending != id {
		return false
	}
	byAnnotation := obj.AppliesByItself() || obj.Spec.Force
	return obj.ApprovedByPeople() || obj.Spec.ApprovePlan == id || byAnnotation && obj.Annotations[infrav1.AnnotationApproved] == id
}

// endHold removes a released hold once the stack is as its own source says.
func (r *Reconciler) endHold(ctx context.Context, p *decided) error {
	h := p.obj.PullRequestHold()
	f := &p.facts
	if h == nil || !h.Released || p.decision.Verb != decide.VerbRest || f.Stack.Suspended || f.Pending != nil || f.Config == "" || f.Stack.PlannedConfig != f.Config ||
		p.obj.Status.LastFailedApply != nil {
		return nil
	}
	before := p.obj.DeepCopy()
	patched := p.obj.DeepCopy()
	delete(patched.Annotations, infrav1.AnnotationPullRequest)
	if err := r.Client.Patch(ctx, patched, reconciling.ChangeOf(before)); err != nil {
		return fmt.Errorf("end the hold of %s for pull request %s: %w", p.stack, h.Of, err)
	}
	r.Stacks.Wrote(patched)
	reconciling.Event(r.Events, patched, corev1.EventTypeNormal, infrav1.ReasonPullRequestReleased, "Release", "the stack is as its source says again, after pull request "+h.Of)
	return nil
}
