// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/yuba-dev/yuba/internal/gitops/releases/decide"
	"github.com/yuba-dev/yuba/internal/gitops/releases/session"
	"github.com/yuba-dev/yuba/internal/gitops/releases/wire"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// maxMessage limits the messages of conditions.
const maxMessage = 8000

func setCondition(obj *helmv2.HelmRelease, kind string, status metav1.ConditionStatus, reason, message string) {
	conditions.Set(obj, kind, status, reason, shorten.Fit(message, maxMessage))
}

func setProgress(obj *helmv2.HelmRelease, message string) {
	setCondition(obj, meta.ReadyCondition, metav1.ConditionUnknown, meta.ProgressingReason, message)
	setCondition(obj, meta.ReconcilingCondition, metav1.ConditionTrue, meta.ProgressingReason, message)
	conditions.Remove(obj, meta.StalledCondition)
}

func setFailed(obj *helmv2.HelmRelease, reason, message string) {
	setCondition(obj, meta.ReadyCondition, metav1.ConditionFalse, reason, message)
	conditions.Remove(obj, meta.StalledCondition, meta.ReconcilingCondition)
}

func setStalled(obj *helmv2.HelmRelease, reason, message string) {
	setCondition(obj, meta.StalledCondition, metav1.ConditionTrue, reason, message)
	conditions.Remove(obj, meta.ReconcilingCondition)
	obj.Status.ObservedGeneration = obj.Generation
}

// describe shows a decision that waits.
func describe(obj *helmv2.HelmRelease, d decide.Decision) {
	setFailed(obj, d.Reason, d.Message)
	if d.Verb == decide.Fail {
		setStalled(obj, d.Reason, d.Message)
		answer(obj)
	}
}

// answer records the handled request for a reconciliation.
func answer(obj *helmv2.HelmRelease) {
	if v, ok := meta.ReconcileAnnotationValue(obj.GetAnnotations()); ok {
		obj.Status.LastHandledReconcileAt = v
	}
}

// describeError shows why an attempt ended before its first step, or between steps.
func (a *attempt) describeError(err error) outcome {
	var (
		access  *accessError
		values  *valuesError
		failure *failureError
		limit   *session.LimitError
	)
	out, reason := outcome{failed: true}, "ReconciliationFailed"
	switch {
	case errors.As(err, &access):
		reason = "AccessDenied"
	case errors.As(err, &values):
		reason = "ValuesError"
	case errors.As(err, &limit):
		reason, out.final = helmv2.ArtifactFailedReason, true
	case errors.As(err, &failure) && failure.Kind == wire.FailedValues:
		reason, out.final = "ValuesError", true
	case errors.As(err, &failure) && failure.Kind == wire.FailedChart:
		reason, out.final = helmv2.ArtifactFailedReason, true
	}
	setFailed(a.obj, reason, err.Error())
	if out.final {
		setStalled(a.obj, reason, err.Error())
	}
	return out
}

// remember updates the history from what is stored; tested is true after the tests.
func (a *attempt) remember(tested bool) {
	var history helmv2.Snapshots
	last := 0
	for _, h := range a.obj.Status.History {
		last = max(last, h.Version)
	}
	for i, v := range a.stored {
		at := slices.IndexFunc(a.obj.Status.History, func(h *helmv2.Snapshot) bool { return h.Version == v.Version && h.Digest == v.Digest })
		switch {
		case at >= 0:
			h := a.obj.Status.History[at].DeepCopy()
			h.Status, h.Deleted = v.Status, metav1.NewTime(v.Deleted)
			history = append(history, h)
		case i == 0 || v.Version > last && last > 0:
			history = append(history, a.snapshot(v))
		}
	}
	if tested && len(history) > 0 {
		hooks := map[string]*helmv2.TestHookStatus{}
		for name, t := range a.stored[0].Tests {
			hooks[name] = &helmv2.TestHookStatus{LastStarted: metav1.NewTime(t.Started), LastCompleted: metav1.NewTime(t.Completed), Phase: t.Phase}
		}
		history[0].SetTestHooks(hooks)
	}
	history.Truncate(a.obj.GetTest().IgnoreFailures)
	a.obj.Status.History = history
}

func (a *attempt) snapshot(v wire.Stored) *helmv2.Snapshot {
	return &helmv2.Snapshot{APIVersion: helmv2.CurrentSnapshotAPIVersion, Digest: v.Digest, Name: v.Name, Namespace: v.Namespace, Version: v.Version, Status: v.Status,
		Action: a.obj.Status.LastAttemptedReleaseAction, ChartName: v.ChartName, ChartVersion: v.ChartVersion, AppVersion: v.AppVersion, ConfigDigest: v.ConfigDigest,
		FirstDeployed: metav1.NewTime(v.FirstDeployed), LastDeployed: metav1.NewTime(v.LastDeployed), Deleted: metav1.NewTime(v.Deleted), OCIDigest: a.chart.oci}
}

// recordRelease records an install or an upgrade.
func (a *attempt) recordRelease(action decide.Action, result *wire.Result, fullName, chart string) {
	obj, s := a.obj, &a.obj.Status
	reasons := map[bool]string{true: helmv2.InstallSucceededReason, false: helmv2.InstallFailedReason}
	if action == decide.Upgrade {
		reasons = map[bool]string{true: helmv2.UpgradeSucceededReason, false: helmv2.UpgradeFailedReason}
	}
	if f := result.Failure; f != nil {
		message := fmt.Sprintf("Helm %s failed for release %s/%s with chart %s: %s", action, obj.GetReleaseNamespace(), placeOf(obj).Name, chart, f.Message)
		setCondition(obj, helmv2.ReleasedCondition, metav1.ConditionFalse, reasons[false], message)
		s.Failures++
		if action == decide.Install {
			s.InstallFailures++
		} else {
			s.UpgradeFailures++
		}
		a.event(obj, corev1.EventTypeWarning, reasons[false], message)
		return
	}
	message := fmt.Sprintf("Helm %s succeeded for release %s with chart %s", action, fullName, chart)
	setCondition(obj, helmv2.ReleasedCondition, metav1.ConditionTrue, reasons[true], message)
	s.ObservedPostRenderersDigest, s.ObservedCommonMetadataDigest = digestOf(obj.Spec.PostRenderers), digestOf(obj.Spec.CommonMetadata)
	s.Inventory = inventory(result.Objects)
	a.event(obj, corev1.EventTypeNormal, reasons[true], message)
}

func inventory(objects []wire.Object) *helmv2.ResourceInventory {
	if len(objects) == 0 {
		return nil
	}
	i := &helmv2.ResourceInventory{}
	for _, o := range objects {
		i.Entries = append(i.Entries, helmv2.ResourceRef{ID: strings.Join([]string{o.Namespace, o.Name, o.Group, o.Kind}, "_"), Version: o.Version})
	}
	return i
}

// recordTest records a run of the chart's tests.
func (a *attempt) recordTest(result *wire.Result, fullName, chart string) {
	obj := a.obj
	if f := result.Failure; f != nil {
		message := fmt.Sprintf("Helm test failed for release %s with chart %s: %s", fullName, chart, f.Message)
		setCondition(obj, helmv2.TestSuccessCondition, metav1.ConditionFalse, helmv2.TestFailedReason, message)
		obj.Status.Failures++
		if remediation := obj.GetActiveRemediation(); remediation != nil && !remediation.MustIgnoreTestFailures(obj.GetTest().IgnoreFailures) {
			remediation.IncrementFailureCount(obj)
		}
		if h := obj.Status.History.Latest(); h != nil && !h.HasTestInPhase("Failed") {
			// A test that never ended has no phase.
			hooks := map[string]*helmv2.TestHookStatus{}
			for name, t := range h.GetTestHooks() {
				hooks[name] = t
			}
			hooks["yuba.dev/test"] = &helmv2.TestHookStatus{Phase: "Failed"}
			h.SetTestHooks(hooks)
		}
		a.event(obj, corev1.EventTypeWarning, helmv2.TestFailedReason, message)
		return
	}
	ran := "no test hooks"
	if n := len(obj.Status.History.Latest().GetTestHooks()); n > 0 {
		ran = fmt.Sprintf("%d test hook(s) completed successfully", n)
	}
	message := fmt.Sprintf("Helm test succeeded for release %s with chart %s: %s", fullName, chart, ran)
	setCondition(obj, helmv2.TestSuccessCondition, metav1.ConditionTrue, helmv2.TestSucceededReason, message)
	a.event(obj, corev1.EventTypeNormal, helmv2.TestSucceededReason, message)
}

// recordRemediation records a rollback or an uninstall after a failure.
func (a *attempt) recordRemediation(step decide.Step, result *wire.Result, fullName, chart string) {
	obj := a.obj
	what, good, bad := fmt.Sprintf("Helm rollback to previous release %s/%s.v%d", obj.GetReleaseNamespace(), placeOf(obj).Name, step.To), helmv2.RollbackSucceededReason, helmv2.RollbackFailedReason
	if step.Action == decide.Uninstall {
		what, good, bad = fmt.Sprintf("Helm uninstall remediation for release %s", fullName), helmv2.UninstallSucceededReason, helmv2.UninstallFailedReason
	}
	if f := result.Failure; f != nil {
		message := fmt.Sprintf("%s with chart %s failed: %s", what, chart, f.Message)
		setCondition(obj, helmv2.RemediatedCondition, metav1.ConditionFalse, bad, message)
		obj.Status.Failures++
		a.event(obj, corev1.EventTypeWarning, bad, message)
		return
	}
	message := fmt.Sprintf("%s with chart %s succeeded", what, chart)
	setCondition(obj, helmv2.RemediatedCondition, metav1.ConditionTrue, good, message)
	obj.Status.Inventory = inventory(result.Objects)
	a.event(obj, corev1.EventTypeNormal, good, message)
}

// recordDrift records a comparison with the cluster.
func (a *attempt) recordDrift(result *wire.Result, fullName string) {
	a.drift.Compared, a.drift.Objects = true, len(result.Drift)
	switch {
	case result.Failure != nil:
		a.event(a.obj, corev1.EventTypeWarning, "DriftDetectionFailed", result.Failure.Message)
	case len(result.Drift) == 0:
		setCondition(a.obj, helmv2.DriftedCondition, metav1.ConditionFalse, helmv2.NoDriftDetectedReason, fmt.Sprintf("No drift detected for release %s", fullName))
	default:
		message := fmt.Sprintf("Cluster state of release %s has drifted from the desired state:\n%s", fullName, lines(result.Drift))
		if was := conditions.Of(a.obj, helmv2.DriftedCondition); was.Status != metav1.ConditionTrue || was.Message != message {
			a.event(a.obj, corev1.EventTypeWarning, helmv2.DriftDetectedReason, message)
		}
		setCondition(a.obj, helmv2.DriftedCondition, metav1.ConditionTrue, helmv2.DriftDetectedReason, message)
	}
}

// maxLines limits the objects that a message lists.
const maxLines = 20

// lines describes drift, without values.
func lines(drift []wire.Drift) string {
	var text []string
	for i, d := range drift {
		if i == maxLines {
			text = append(text, fmt.Sprintf("and %d more", len(drift)-i))
			break
		}
		name := strings.TrimPrefix(d.Kind+"/"+d.Namespace+"/"+d.Name, "/")
		if d.Missing {
			text = append(text, name+" removed")
			continue
		}
		text = append(text, fmt.Sprintf("%s changed (%s)", name, shorten.Cut(strings.Join(d.Paths, ", "), 200)))
	}
	return strings.Join(text, "\n")
}

// done records that the release is what it should be.
func (a *attempt) done() {
	obj := a.obj
	if a.drift.Corrected {
		setCondition(obj, helmv2.DriftedCondition, metav1.ConditionFalse, helmv2.NoDriftDetectedReason, "the drift was corrected")
	} else if !a.drift.Detect {
		conditions.Remove(obj, helmv2.DriftedCondition)
	}
	if released := conditions.Of(obj, helmv2.ReleasedCondition); released.Status != metav1.ConditionTrue {
		last := obj.Status.History.Latest()
		setCondition(obj, helmv2.ReleasedCondition, metav1.ConditionTrue, helmv2.UpgradeSucceededReason, fmt.Sprintf("Helm upgrade succeeded for release %s with chart %s", last.FullReleaseName(), last.VersionedChartName()))
	}
	conditions.Remove(obj, meta.ReconcilingCondition, meta.StalledCondition, helmv2.RemediatedCondition)
	obj.Status.ClearFailures()
	summarize(obj)
	obj.Status.ObservedGeneration = obj.Generation
}

// stop records that the policy allows no more.
func (a *attempt) stop(message string) {
	summarize(a.obj)
	setStalled(a.obj, "RetriesExceeded", message)
}

// pause records a failure after which the spec wants a pause.
func (a *attempt) pause() {
	summarize(a.obj)
	conditions.Remove(a.obj, meta.ReconcilingCondition)
}

// summarize sets Ready from the other conditions, in Flux's order.
func summarize(obj *helmv2.HelmRelease) {
	remediated, released, tested := conditions.Of(obj, helmv2.RemediatedCondition), conditions.Of(obj, helmv2.ReleasedCondition), conditions.Of(obj, helmv2.TestSuccessCondition)
	ignore := obj.GetTest().IgnoreFailures
	if r := obj.GetActiveRemediation(); r != nil {
		ignore = r.MustIgnoreTestFailures(ignore)
	}
	switch {
	case remediated.Type != "":
		setCondition(obj, meta.ReadyCondition, metav1.ConditionFalse, remediated.Reason, remediated.Message)
	case released.Status != metav1.ConditionTrue:
		setCondition(obj, meta.ReadyCondition, metav1.ConditionFalse, released.Reason, released.Message)
	case tested.Type != "" && obj.GetTest().Enable && (tested.Status == metav1.ConditionTrue || !ignore):
		setCondition(obj, meta.ReadyCondition, tested.Status, tested.Reason, tested.Message)
	default:
		setCondition(obj, meta.ReadyCondition, metav1.ConditionTrue, released.Reason, released.Message)
	}
}

// announce sends an event for a new problem, or its end; steps have events of their own.
func (r *Reconciler) announce(obj, before *helmv2.HelmRelease) {
	is, was := conditions.Of(obj, meta.ReadyCondition), conditions.Of(before, meta.ReadyCondition)
	if is.Status != metav1.ConditionFalse || is.Reason == was.Reason && is.Message == was.Message {
		return
	}
	switch is.Reason {
	case helmv2.InstallFailedReason, helmv2.UpgradeFailedReason, helmv2.TestFailedReason, helmv2.RollbackSucceededReason, helmv2.RollbackFailedReason, helmv2.UninstallSucceededReason, helmv2.UninstallFailedReason:
		return
	case helmv2.DependencyNotReadyReason, "SourceNotReady":
		r.event(obj, corev1.EventTypeNormal, is.Reason, is.Message)
		return
	}
	r.event(obj, corev1.EventTypeWarning, is.Reason, is.Message)
}

func (r *Reconciler) event(obj *helmv2.HelmRelease, severity, reason, message string) {
	reconciling.Event(r.Events, obj, severity, reason, "Reconcile", message)
}
