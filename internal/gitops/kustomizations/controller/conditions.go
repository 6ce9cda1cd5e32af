// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/decide"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
)

func setCondition(obj *kustomizev1.Kustomization, kind string, status metav1.ConditionStatus, reason, message string) {
	if runes := []rune(message); len(runes) > kustomizev1.MaxConditionMessageLength {
		message = string(runes[:kustomizev1.MaxConditionMessageLength-3]) + "..."
	}
	conditions.Set(obj, kind, status, reason, message)
}

func isReady(obj *kustomizev1.Kustomization) bool {
	return conditions.Of(obj, meta.ReadyCondition).Status == metav1.ConditionTrue
}

// setProgress records the progress of an attempt.
func setProgress(obj *kustomizev1.Kustomization, message string) {
	setCondition(obj, meta.ReadyCondition, metav1.ConditionUnknown, meta.ProgressingReason, "Reconciliation in progress")
	setCondition(obj, meta.ReconcilingCondition, metav1.ConditionTrue, meta.ProgressingReason, message)
	conditions.Remove(obj, meta.StalledCondition)
}

// setReady records a success.
func setReady(obj *kustomizev1.Kustomization, revision string) {
	setCondition(obj, meta.ReadyCondition, metav1.ConditionTrue, meta.ReconciliationSucceededReason, "Applied revision: "+revision)
	conditions.Remove(obj, meta.ReconcilingCondition, meta.StalledCondition)
	obj.Status.ObservedGeneration = obj.Generation
}

// setFailed records a failure that will be retried.
func setFailed(obj *kustomizev1.Kustomization, reason, message string) {
	setCondition(obj, meta.ReadyCondition, metav1.ConditionFalse, reason, message)
	conditions.Remove(obj, meta.StalledCondition)
	if c := conditions.Of(obj, meta.ReconcilingCondition); c.Type != "" {
		setCondition(obj, meta.ReconcilingCondition, c.Status, meta.ProgressingWithRetryReason, c.Message)
	}
}

// setStalled records a failure that requires a change.
func setStalled(obj *kustomizev1.Kustomization, reason, message string) {
	setCondition(obj, meta.ReadyCondition, metav1.ConditionFalse, reason, message)
	setCondition(obj, meta.StalledCondition, metav1.ConditionTrue, reason, message)
	conditions.Remove(obj, meta.ReconcilingCondition)
	obj.Status.ObservedGeneration = obj.Generation
}

// describe writes a decision without an attempt to the status.
func describe(obj *kustomizev1.Kustomization, d decide.Decision) {
	switch d.Verb {
	case decide.VerbFail:
		setStalled(obj, d.Reason, d.Message)
	case decide.VerbWait:
		setFailed(obj, d.Reason, d.Message)
	}
}

// announceChange sends an event after a change of Ready.
func (r *Reconciler) announceChange(p *pass) {
	is, was := conditions.Of(p.obj, meta.ReadyCondition), conditions.Of(p.first, meta.ReadyCondition)
	if is.Type == "" || is.Status == metav1.ConditionUnknown || is.Status == was.Status && is.Reason == was.Reason && is.Message == was.Message {
		return
	}
	switch {
	case is.Status == metav1.ConditionTrue:
		r.event(p, corev1.EventTypeNormal, fmt.Sprintf("Reconciliation finished in %s, next run in %s",
			r.Now().Sub(p.now).String(), p.obj.Spec.Interval.Duration))
	case is.Reason == meta.DependencyNotReadyReason:
		r.event(p, corev1.EventTypeNormal, is.Message)
	default:
		r.event(p, corev1.EventTypeWarning, is.Message)
	}
}

// event records an event with the reason of the condition Ready, as Flux does.
func (r *Reconciler) event(p *pass, severity, message string) {
	reason := conditions.Of(p.obj, meta.ReadyCondition).Reason
	if reason == "" {
		reason = meta.ProgressingReason
	}
	reconciling.Event(r.Events, p.obj, severity, reason, "Reconcile", message)
}
