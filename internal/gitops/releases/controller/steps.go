// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/yuba-dev/yuba/internal/gitops/releases/decide"
	"github.com/yuba-dev/yuba/internal/gitops/releases/session"
	"github.com/yuba-dev/yuba/internal/gitops/releases/wire"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/moving"
)

// operations are the calls of the steps.
var operations = map[decide.Action]wire.Operation{
	decide.Unlock: wire.Unlock, decide.Install: wire.Install, decide.Upgrade: wire.Upgrade, decide.Test: wire.Test, decide.Compare: wire.Diff,
	decide.Correct: wire.Correct, decide.Rollback: wire.Rollback, decide.Uninstall: wire.Uninstall, decide.Replace: wire.Uninstall,
}

// call makes the call of an operation.
func (a *attempt) call(operation wire.Operation) *wire.Call {
	obj := a.obj
	c := &wire.Call{Operation: operation, Values: a.values, Release: releaseAt(placeOf(obj))}
	o := &c.Options
	o.MaxHistory, o.VersionMetadata = obj.GetMaxHistory(), shortDigest(a.chart.oci)
	o.LegacyWait = obj.GetWaitStrategy() == helmv2.WaitStrategyLegacy
	if len(obj.Spec.HealthCheckExprs) > 0 {
		o.HealthChecks, _ = json.Marshal(obj.Spec.HealthCheckExprs) //nolint:errcheck // it was JSON
	}
	all := obj.GetTimeout()
	switch operation {
	case wire.Install:
		i := obj.GetInstall()
		o.Timeout, o.DisableWait, o.DisableWaitForJobs, o.DisableHooks = i.GetTimeout(all).Duration, i.DisableWait, i.DisableWaitForJobs, i.DisableHooks
		o.DisableOpenAPIValidation, o.DisableSchemaValidation, o.DisableTakeOwnership = i.DisableOpenAPIValidation, i.DisableSchemaValidation, i.DisableTakeOwnership
		o.Replace, o.CreateNamespace, o.CRDs = i.Replace, i.CreateNamespace, definitionPolicy(i.CRDs, i.SkipCRDs, helmv2.Create)
		if i.ServerSideApply != nil && !*i.ServerSideApply {
			o.ServerSideApply = string(helmv2.ServerSideApplyDisabled)
		}
		a.rendering(o)
	case wire.Upgrade:
		u := obj.GetUpgrade()
		o.Timeout, o.DisableWait, o.DisableWaitForJobs, o.DisableHooks = u.GetTimeout(all).Duration, u.DisableWait, u.DisableWaitForJobs, u.DisableHooks
		o.DisableOpenAPIValidation, o.DisableSchemaValidation, o.DisableTakeOwnership = u.DisableOpenAPIValidation, u.DisableSchemaValidation, u.DisableTakeOwnership
		o.Force, o.PreserveValues, o.CleanupOnFail, o.ServerSideApply = u.Force, u.PreserveValues, u.CleanupOnFail, string(u.ServerSideApply)
		o.CRDs = definitionPolicy(u.CRDs, false, helmv2.Skip)
		a.rendering(o)
	case wire.Rollback:
		r := obj.GetRollback()
		o.Timeout, o.DisableWait, o.DisableWaitForJobs, o.DisableHooks = r.GetTimeout(all).Duration, r.DisableWait, r.DisableWaitForJobs, r.DisableHooks
		o.Force, o.CleanupOnFail, o.ServerSideApply = r.Force, r.CleanupOnFail, string(r.ServerSideApply)
	case wire.Uninstall:
		u := obj.GetUninstall()
		o.Timeout, o.DisableWait, o.DisableHooks, o.KeepHistory, o.Propagation = u.GetTimeout(all).Duration, u.DisableWait, u.DisableHooks, u.KeepHistory, u.GetDeletionPropagation()
	case wire.Test:
		o.Timeout = obj.GetTest().GetTimeout(all).Duration
		for _, f := range obj.GetTest().GetFilters() {
			o.Filters = append(o.Filters, wire.Filter{Name: f.Name, Exclude: f.Exclude})
		}
	case wire.Diff, wire.Correct:
		c.Ignore = ignored(obj)
	}
	return c
}

func definitionPolicy(policy helmv2.CRDsPolicy, skip bool, otherwise helmv2.CRDsPolicy) string {
	if policy == "" && skip {
		return string(helmv2.Skip)
	}
	return string(cmp.Or(policy, otherwise))
}

// rendering adds what changes rendered objects.
func (a *attempt) rendering(o *wire.Options) {
	if len(a.obj.Spec.PostRenderers) > 0 {
		o.PostRenderers, _ = json.Marshal(a.obj.Spec.PostRenderers) //nolint:errcheck // it was JSON
	}
	o.Strategy = string(a.obj.GetPostRenderStrategy())
	if m := a.obj.Spec.CommonMetadata; m != nil {
		o.Labels, o.Annotations = m.Labels, m.Annotations
	}
	o.Origin = map[string]string{labelName: a.obj.Name, labelNamespace: a.obj.Namespace}
}

func ignored(obj *helmv2.HelmRelease) []wire.Ignore {
	var list []wire.Ignore
	for _, rule := range obj.GetDriftDetection().Ignore {
		i := wire.Ignore{Paths: rule.Paths}
		if rule.Target != nil {
			i.Target, _ = json.Marshal(rule.Target) //nolint:errcheck // it was JSON
		}
		list = append(list, i)
	}
	return list
}

// shortDigest is the part of a digest that Flux appends to versions.
func shortDigest(digest string) string {
	_, hex, _ := strings.Cut(digest, ":")
	return hex[:min(len(hex), 12)]
}

// step executes one step and records its result. An error ends the attempt.
func (a *attempt) step(ctx context.Context, step decide.Step) error {
	if step.Forget {
		a.obj.Status.ClearHistory()
	}
	call := a.call(operations[step.Action])
	call.Release.Version = step.To
	if err := a.sayBegin(ctx, step, call.Options.Timeout); err != nil {
		return err
	}
	var input []byte
	if step.Action == decide.Install || step.Action == decide.Upgrade {
		input = a.archive
	}
	began := a.Now()
	result, err := a.session.Do(ctx, call, input)
	var limit *session.LimitError
	if errors.As(err, &limit) {
		result = &wire.Result{Stored: a.stored, Failure: &wire.Failure{Kind: wire.FailedChart, Message: limit.Error()}}
		if err = a.start(ctx); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	if result.Failure == nil || len(result.Stored) > 0 {
		a.stored = result.Stored
	}
	a.recordStep(step, result, a.Now().Sub(began))
	return a.write(ctx, a.obj, a.before)
}

// sayBegin shows an operation in the status before it begins, so that an interrupted one is known.
func (a *attempt) sayBegin(ctx context.Context, step decide.Step, timeout time.Duration) error {
	switch step.Action {
	case decide.Install, decide.Upgrade:
		a.obj.Status.LastAttemptedReleaseAction = helmv2.ReleaseAction(step.Action)
		conditions.Remove(a.obj, helmv2.RemediatedCondition, helmv2.TestSuccessCondition)
		a.forced, a.tried = false, true
	case decide.Test, decide.Rollback, decide.Uninstall, decide.Replace:
	default:
		return nil
	}
	setProgress(a.obj, fmt.Sprintf("Running '%s' action with timeout of %s", step.Action, timeout))
	if err := a.write(ctx, a.obj, a.before); err != nil {
		return err
	}
	return a.stillOurs(ctx)
}

// stillOurs reads the object again. A move marks it and then waits until it is not in progress, so either
// the attempt sees the mark, or the move the progress.
func (a *attempt) stillOurs(ctx context.Context) error {
	now := &helmv2.HelmRelease{}
	err := a.fresh.Get(ctx, a.name, now)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read HelmRelease %s: %w", a.name, err)
	}
	if held := moving.Held(now); held != "" {
		return errors.New(held)
	}
	return nil
}

// recordStep records the result of a step in the status.
func (a *attempt) recordStep(step decide.Step, result *wire.Result, took time.Duration) {
	obj := a.obj
	fullName := obj.GetReleaseNamespace() + "/" + placeOf(obj).Name
	if len(a.stored) > 0 {
		fullName += fmt.Sprintf(".v%d", a.stored[0].Version)
	}
	chart := a.wanted.Chart + "@" + a.wanted.ChartVersion
	switch step.Action {
	case decide.Unlock:
		a.remember(false)
		a.event(obj, corev1.EventTypeWarning, "PendingRelease", "the release was unlocked: "+step.Message)
	case decide.Install, decide.Upgrade:
		obj.Status.LastAttemptedReleaseActionDuration = &metav1.Duration{Duration: took.Round(time.Millisecond)}
		a.remember(false)
		a.recordRelease(step.Action, result, fullName, chart)
	case decide.Test:
		a.remember(true)
		a.recordTest(result, fullName, chart)
	case decide.Rollback, decide.Uninstall:
		a.remember(false)
		a.recordRemediation(step, result, fullName, chart)
	case decide.Replace:
		a.remember(false)
		if result.Failure == nil {
			obj.Status.ClearHistory()
			obj.Status.Inventory = nil
			a.event(obj, corev1.EventTypeNormal, helmv2.UninstallSucceededReason, "the release of another chart was uninstalled: "+step.Message)
		}
	case decide.Compare:
		a.recordDrift(result, fullName)
	case decide.Correct:
		a.drift.Corrected = true
		if result.Failure != nil {
			a.event(obj, corev1.EventTypeWarning, "DriftCorrectionFailed", fmt.Sprintf("Failed to correct the cluster state of release %s: %s", fullName, result.Failure.Message))
			return
		}
		a.event(obj, corev1.EventTypeNormal, "DriftCorrected", fmt.Sprintf("Cluster state of release %s has been corrected:\n%s", fullName, lines(result.Drift)))
	}
}
