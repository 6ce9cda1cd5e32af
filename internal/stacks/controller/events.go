// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
)

// announce sends an event for each changed condition, and the notes of the pass.
func (r *Reconciler) announce(p *acted) {
	for _, kind := range []string{infrav1.ConditionReady, infrav1.ConditionStateLocked, infrav1.ConditionOutput} {
		if n, ok := p.news(kind, conditions.Of(p.before, kind)); ok {
			r.event(&p.gathered, n)
		}
	}
	for _, n := range p.notes {
		r.event(&p.gathered, n)
	}
}

// news is the event for a changed condition. Reasons and messages are tofu-controller's, and some
// differ from those of the condition.
func (p *collected) news(kind string, was metav1.Condition) (note, bool) {
	is := conditions.Of(p.obj, kind)
	if is.Type == "" || is.Status == was.Status && is.Reason == was.Reason && is.Message == was.Message {
		return note{}, false
	}
	n := note{warning: is.Status == metav1.ConditionFalse, reason: is.Reason, action: kind, message: is.Message}
	switch {
	case is.Reason == infrav1.ReasonContractBroken:
		n.warning = true
	case kind == infrav1.ConditionStateLocked:
		n.warning = is.Status == metav1.ConditionTrue
	case kind == infrav1.ConditionOutput && is.Reason == infrav1.ReasonOutputsWritten:
		return note{}, false // the write has its own event, with the names
	case kind != infrav1.ConditionReady:
	case is.Reason == infrav1.ReasonNoDrift && was.Status == metav1.ConditionTrue:
		return note{}, false // a recovery is news only after a failure
	case is.Reason == infrav1.ReasonPlannedNoChanges && was.Status == is.Status && was.Reason == is.Reason && p.ended == nil:
		return note{}, false // nothing was planned: only the revision changed
	case is.Reason == infrav1.ReasonDependencyNotReady:
		n.warning, n.message = false, conditions.Of(p.obj, infrav1.ConditionReconciling).Message
	case is.Reason == infrav1.ReasonPlannedWithChanges:
		n.reason, n.message = infrav1.ReasonPlanSucceeded, "Planned.\n"+is.Message
	case p.applied() && is.Status == metav1.ConditionTrue:
		n = p.tellOfSuccess()
	}
	return n, true
}

// applied reports whether an apply has just succeeded.
func (p *collected) applied() bool {
	return p.ended != nil && p.ended.Result != nil && p.ended.Result.Applied
}

// tellOfSuccess reports an apply if Ready is already about a later step.
func (p *collected) tellOfSuccess() note {
	apply, reason := conditions.Of(p.obj, infrav1.ConditionApply), infrav1.ReasonApplied
	if p.ended.Spec.Destroy {
		reason = infrav1.ReasonDestroyed
	}
	return note{reason: reason, action: infrav1.ConditionApply, message: at(apply.Message, p.obj.Status.LastAppliedRevision)}
}

func (r *Reconciler) event(p *gathered, n note) {
	severity := corev1.EventTypeNormal
	if n.warning {
		severity = corev1.EventTypeWarning
	}
	reconciling.Event(r.Events, subject(p), severity, n.reason, n.action, n.message)
}

// subject is the object of events, with this pass's revision, or that of the run that just ended.
func subject(p *gathered) *infrav1.Terraform {
	revision := p.facts.Source.Revision
	if p.ended != nil || revision == "" || revision == p.obj.Status.LastAttemptedRevision {
		return p.obj
	}
	obj := p.obj.DeepCopy()
	obj.Status.LastAttemptedRevision = revision
	return obj
}
