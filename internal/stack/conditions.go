// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/stack/decide"
)

func setCondition(obj *infrav1.Terraform, kind string, status metav1.ConditionStatus, reason, message string) {
	apimeta.SetStatusCondition(&obj.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason,
		Message: infrav1.TrimMessage(message), ObservedGeneration: obj.Generation})
}

func setReady(obj *infrav1.Terraform, status metav1.ConditionStatus, reason, message string) {
	setCondition(obj, infrav1.ConditionReady, status, reason, message)
}

func removeCondition(obj *infrav1.Terraform, kind string) {
	apimeta.RemoveStatusCondition(&obj.Status.Conditions, kind)
}

func conditionOf(obj *infrav1.Terraform, kind string) metav1.Condition {
	if c := apimeta.FindStatusCondition(obj.Status.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// describe writes a decision into the status: what is waited for, what is wrong, what is under way. What a run came to
// was written by record and stays until something else is true.
func describe(p *pass, d decide.Decision) {
	obj := p.obj
	obj.Status.ObservedGeneration = obj.Generation
	confirm(p, d)
	describeWarnings(p)
	describeLock(p, d)
	removeCondition(obj, infrav1.ConditionStalled)
	switch d.Verb {
	case decide.VerbFail:
		setReady(obj, metav1.ConditionFalse, d.Reason, d.Message)
		removeCondition(obj, infrav1.ConditionReconciling)
		if d.NextCheck.IsZero() {
			setCondition(obj, infrav1.ConditionStalled, metav1.ConditionTrue, d.Reason, d.Message)
		}
	case decide.VerbWait:
		if d.Reason == decide.ReasonLockHeld {
			setReady(obj, metav1.ConditionFalse, d.Reason, lockMessage(p))
		}
		removeCondition(obj, infrav1.ConditionReconciling)
	case decide.VerbPlan, decide.VerbPlanAndApply, decide.VerbApply:
		describeStart(obj, d)
	case decide.VerbAwaitApproval:
		describeApproval(obj, d)
	case decide.VerbRest:
		removeCondition(obj, infrav1.ConditionReconciling)
		describeRest(p, d)
	}
}

// confirm says of what Ready told already that it is true of the object as it is now: a change of the object that calls
// for no run, such as spent approval, must not leave those waiting who wait for a condition of the new generation.
func confirm(p *pass, d decide.Decision) {
	if d.Verb.StartsRun() || d.Verb == decide.VerbAwaitRun || d.Verb == decide.VerbCancel {
		return
	}
	if ready := conditionOf(p.obj, infrav1.ConditionReady); ready.Type != "" && ready.ObservedGeneration != p.obj.Generation {
		setReady(p.obj, ready.Status, ready.Reason, ready.Message)
	}
}

// describeStart says that a run begins. A pass on the interval says nothing: what was true stays true until it finds otherwise.
func describeStart(obj *infrav1.Terraform, d decide.Decision) {
	obj.Status.LastHandledReconcileAt = obj.ReconcileRequest()
	if d.Reason == decide.ReasonDriftDue {
		return
	}
	message := infrav1.MessagePlanning
	switch {
	case d.Purpose == decide.PurposeDelete:
		message = infrav1.MessageDeleting
	case d.Verb == decide.VerbApply:
		message = infrav1.MessageApplying
		obj.Status.Plan.Approved = true
		setCondition(obj, infrav1.ConditionApply, metav1.ConditionUnknown, infrav1.ReasonProgressing, infrav1.MessageApplyStarted)
	}
	setReady(obj, metav1.ConditionUnknown, infrav1.ReasonProgressing, message)
	setCondition(obj, infrav1.ConditionReconciling, metav1.ConditionTrue, infrav1.ReasonProgressing, d.Message)
}

// describeApproval keeps the words up to date that tell how to approve: which id is named may change without a run.
func describeApproval(obj *infrav1.Terraform, d decide.Decision) {
	removeCondition(obj, infrav1.ConditionReconciling)
	if d.Reason == decide.ReasonRejected {
		obj.Status.Plan.Rejected = d.Subject
		setReady(obj, metav1.ConditionFalse, infrav1.ReasonPlanRejected, d.Message)
		return
	}
	if conditionOf(obj, infrav1.ConditionReady).Reason != infrav1.ReasonDriftDetected {
		setReady(obj, metav1.ConditionUnknown, infrav1.ReasonPlannedWithChanges, d.Message)
	}
}

// describeRest mends a Ready condition that told of something that is over: a source or variable that was missing and
// came back as it was, a lock that was released, before any run had a reason to begin.
func describeRest(p *pass, d decide.Decision) {
	obj := p.obj
	if p.facts.Stack.Suspended {
		// What was under way was stopped; otherwise what Ready says is still true.
		if conditionOf(obj, infrav1.ConditionReady).Reason == infrav1.ReasonProgressing {
			setReady(obj, metav1.ConditionUnknown, infrav1.ReasonSuspended, d.Message)
		}
		return
	}
	if p.ended != nil {
		return
	}
	switch conditionOf(obj, infrav1.ConditionReady).Reason {
	case infrav1.ReasonArtifactFailed, infrav1.ReasonVarsGenerationFailed, infrav1.ReasonLockHeld, infrav1.ReasonAccessDenied,
		infrav1.ReasonFieldNotSupported, infrav1.ReasonStateUnreadable, infrav1.ReasonStateMissing, infrav1.ReasonProgressing,
		infrav1.ReasonSuspended:
		setReady(obj, metav1.ConditionTrue, infrav1.ReasonPlannedNoChanges,
			at(infrav1.MessagePlanNoChanges, p.facts.Source.Revision))
	}
}

func describeWarnings(p *pass) {
	warnings := ignoredFields(&p.obj.Spec)
	if p.config != nil {
		warnings = append(warnings, p.config.warnings...)
	} else if p.facts.Source.Ready {
		// Inputs that do not resolve say nothing about what the module declares.
		warnings = append(warnings, keptWarnings(p.obj)...)
	}
	if len(warnings) > infrav1.MaxWarnings {
		more := len(warnings) - infrav1.MaxWarnings + 1
		warnings = append(warnings[:infrav1.MaxWarnings-1], fmt.Sprintf("and %d more", more))
	}
	if !slices.Equal(warnings, p.obj.Status.Warnings) {
		for _, w := range warnings {
			if !slices.Contains(p.obj.Status.Warnings, w) {
				p.notes = append(p.notes, note{warning: true, reason: "Warning", action: "Check", message: w})
			}
		}
		p.obj.Status.Warnings = warnings
	}
}

func keptWarnings(obj *infrav1.Terraform) []string {
	ignored := ignoredFields(&obj.Spec)
	return slices.DeleteFunc(slices.Clone(obj.Status.Warnings), func(w string) bool { return slices.Contains(ignored, w) })
}

func describeLock(p *pass, d decide.Decision) {
	if l := p.facts.Lock; l != nil && d.Reason == decide.ReasonLockHeld {
		p.obj.Status.Lock.Pending = l.ID
		setCondition(p.obj, infrav1.ConditionStateLocked, metav1.ConditionTrue, infrav1.ReasonLockHeld, fmt.Sprintf(infrav1.MessageLocked, l.ID))
		return
	}
	if p.facts.Lock == nil && p.obj.Status.Lock.Pending != "" {
		p.obj.Status.Lock.Pending = ""
		removeCondition(p.obj, infrav1.ConditionStateLocked)
	}
}

// lockMessage says who holds the lock, since when, and how to release it.
func lockMessage(p *pass) string {
	l := p.facts.Lock
	by := l.Who
	if by == "" {
		by = "somebody who left no name"
	}
	since := ""
	if !l.Since.IsZero() {
		since = " since " + sinceText(l.Since)
	}
	return fmt.Sprintf("State locked by %s%s (lock %s). Another run may be writing it. If that run is gone:\n    yuba force-unlock %s -n %s %s",
		by, since, l.ID, p.obj.Name, p.obj.Namespace, l.ID)
}

// announce sends the events: one for each condition that took another reason or status, and the pass's notes.
func (r *Reconciler) announce(p *pass, before *infrav1.Terraform) {
	for _, kind := range []string{infrav1.ConditionReady, infrav1.ConditionStateLocked, infrav1.ConditionOutput} {
		is, was := conditionOf(p.obj, kind), conditionOf(before, kind)
		if is.Type == "" || is.Status == was.Status && is.Reason == was.Reason && is.Message == was.Message {
			continue
		}
		severity := corev1.EventTypeNormal
		if is.Status == metav1.ConditionFalse && kind != infrav1.ConditionStateLocked || kind == infrav1.ConditionStateLocked && is.Status == metav1.ConditionTrue {
			severity = corev1.EventTypeWarning
		}
		r.event(p, severity, is.Reason, kind, is.Message)
	}
	for _, n := range p.notes {
		severity := corev1.EventTypeNormal
		if n.warning {
			severity = corev1.EventTypeWarning
		}
		r.event(p, severity, n.reason, n.action, n.message)
	}
}

// maxEvent is the API's limit for an event's note.
const maxEvent = 1000

func (r *Reconciler) event(p *pass, severity, reason, action, message string) {
	if runes := []rune(message); len(runes) > maxEvent {
		message = string(runes[:maxEvent]) + "…"
	}
	r.Events.Eventf(p.obj, nil, severity, reason, action, "%s", message)
}
