// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/yuba-dev/yuba/internal/gitops/releases/decide"
	"github.com/yuba-dev/yuba/internal/gitops/releases/session"
	"github.com/yuba-dev/yuba/internal/gitops/releases/wire"
	"github.com/yuba-dev/yuba/internal/kit/moving"
)

const (
	// maxSteps limits the steps of an attempt: an install, its tests, remediations with retries.
	maxSteps = 24
	// maxChart limits a chart's archive.
	maxChart = 32 << 20
)

// attempt is one attempt to make a release what its HelmRelease says.
type attempt struct {
	*Reconciler
	*pass
	session *session.Session
	target  *rest.Config
	values  []wire.Values
	archive []byte
	// wanted is what the release should be, and stored what is.
	wanted decide.Wanted
	stored []wire.Stored
	drift  decide.Drift
	// forced is true until a requested upgrade is done, tried once this attempt has installed or upgraded.
	forced, tried bool
}

// attempt makes a release what its HelmRelease says.
func (r *Reconciler) attempt(ctx context.Context, p *pass) outcome {
	a := &attempt{Reconciler: r, pass: p}
	out, err := a.run(ctx)
	if a.session != nil {
		a.session.Close()
	}
	if errors.Is(err, errDeleted) || ctx.Err() != nil {
		return outcome{failed: true}
	}
	if err != nil {
		out = a.describeError(err)
	}
	answer(p.obj)
	if err := r.writeAndTell(ctx, p.obj, p.before); err != nil {
		r.Log.Error("writing the result of an attempt failed", "helmrelease", p.name.String(), "error", err)
		return outcome{failed: true}
	}
	if !out.failed && p.obj.Spec.KubeConfig == nil {
		out.stored = r.storedNow(ctx, p.obj)
	}
	return out
}

func (a *attempt) run(ctx context.Context) (outcome, error) {
	// 1. Everything that the release is made of.
	if err := a.prepare(ctx); err != nil {
		return outcome{}, err
	}
	defer a.session.Close()
	// 2. A release that is somewhere else, because the spec has changed.
	if err := a.leave(ctx); err != nil {
		return outcome{}, err
	}
	// 3. What is stored, and what should be.
	if err := a.observe(ctx); err != nil {
		return outcome{}, err
	}
	a.resetFailures()
	// 4. One step after another, until the release is what it should be.
	for range maxSteps {
		step := decide.Next(a.state())
		a.Log.Debug("decided", "helmrelease", a.name.String(), "step", string(step.Action), "why", step.Message)
		switch step.Action {
		case decide.Done:
			a.done()
			return outcome{}, nil
		case decide.Stop:
			a.stop(step.Message)
			return outcome{failed: true, final: true}, nil
		case decide.Pause:
			a.pause()
			return outcome{failed: true, retryAfter: step.After}, nil
		}
		if err := a.step(ctx, step); err != nil {
			return outcome{}, err
		}
	}
	return outcome{failed: true}, nil
}

// prepare reads the inputs and starts the program.
func (a *attempt) prepare(ctx context.Context) (err error) {
	if a.target, err = a.Reconciler.target(ctx, a.obj); err != nil {
		return err
	}
	if a.values, err = a.valuesOf(ctx, a.obj); err != nil {
		return err
	}
	if a.archive, err = a.readChart(ctx); err != nil {
		return err
	}
	return a.start(ctx)
}

// start starts the program.
func (a *attempt) start(ctx context.Context) (err error) {
	if a.session, err = session.Start(ctx, a.Programs, a.target); err == nil {
		a.session.Processor = a.MaxProcessor
	}
	return err
}

func (a *attempt) readChart(ctx context.Context) ([]byte, error) {
	content, err := a.Archives.OpenArtifact(ctx, a.chart.digest)
	if err != nil {
		return nil, fmt.Errorf("read the chart of %s: %w", a.facts.Chart.Name, err)
	}
	defer content.Close() //nolint:errcheck // read only
	data, err := io.ReadAll(io.LimitReader(content, maxChart+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the chart of %s: %w", a.facts.Chart.Name, err)
	case len(data) > maxChart:
		return nil, &failureError{&wire.Failure{Kind: wire.FailedChart, Message: fmt.Sprintf("the chart has more than %d MiB", maxChart>>20)}}
	}
	return data, nil
}

// failureError is a failed call that ends an attempt.
type failureError struct{ *wire.Failure }

func (e *failureError) Error() string { return e.Message }

// observe reads what is stored.
func (a *attempt) observe(ctx context.Context) error {
	result, err := a.session.Do(ctx, a.call(wire.Observe), a.archive)
	if err != nil {
		return err
	}
	if result.Failure != nil {
		return &failureError{result.Failure}
	}
	a.stored = result.Stored
	a.adopt()
	a.wanted = decide.Wanted{Chart: result.Chart.Name, ChartVersion: result.Chart.Version, Config: result.ConfigDigest, Rendering: rendering(digestOf(a.obj.Spec.PostRenderers), digestOf(a.obj.Spec.CommonMetadata))}
	a.drift = decide.Drift{Detect: a.obj.GetDriftDetection().MustDetectChanges(), Correct: a.obj.GetDriftDetection().GetMode() == helmv2.DriftDetectionEnabled,
		Rename: a.obj.GetUpgrade().GetChartNameChangeStrategy() == helmv2.ChartNameChangeStrategyInPlaceUpdate}
	a.obj.Status.StorageNamespace = a.obj.GetStorageNamespace()
	return nil
}

// resetFailures forgets failures of other inputs.
func (a *attempt) resetFailures() {
	s := &a.obj.Status
	reset := helmv2.ShouldHandleResetRequest(a.obj)
	a.forced = helmv2.ShouldHandleForceRequest(a.obj)
	if reset || s.LastAttemptedGeneration != a.obj.Generation || s.LastAttemptedRevision != a.wanted.ChartVersion || s.LastAttemptedConfigDigest != a.wanted.Config {
		s.ClearFailures()
	}
	s.LastAttemptedGeneration, s.LastAttemptedRevision, s.LastAttemptedRevisionDigest = a.obj.Generation, a.wanted.ChartVersion, a.chart.oci
	s.LastAttemptedConfigDigest, s.LastAttemptedValuesChecksum = a.wanted.Config, "" //nolint:staticcheck // an old Flux may have left one
}

// state returns what the next step depends on.
func (a *attempt) state() decide.State {
	obj := a.obj
	install, upgrade := obj.GetInstall(), obj.GetUpgrade()
	s := decide.State{Wanted: a.wanted, Forced: a.forced, Tried: a.tried, Drift: a.drift,
		LastAction: decide.Action(obj.Status.LastAttemptedReleaseAction),
		Failures:   map[decide.Action]int64{decide.Install: obj.Status.InstallFailures, decide.Upgrade: obj.Status.UpgradeFailures},
		Policies:   map[decide.Action]decide.Policy{decide.Install: policyOf(obj, install.GetRemediation(), install.GetRetry(false)), decide.Upgrade: policyOf(obj, upgrade.GetRemediation(), upgrade.GetRetry(false))},
		Tests:      decide.Tests{Enabled: obj.GetTest().Enable, Ignored: obj.GetTest().IgnoreFailures},
	}
	for i, v := range a.stored {
		is := decide.Wanted{Chart: v.ChartName, ChartVersion: v.ChartVersion, Config: v.ConfigDigest, Rendering: a.wanted.Rendering}
		if i == 0 {
			is.Rendering = rendering(obj.Status.ObservedPostRenderersDigest, obj.Status.ObservedCommonMetadataDigest)
		}
		s.Stored = append(s.Stored, decide.Version{Number: v.Version, Status: v.Status, Digest: v.Digest, Wanted: is})
	}
	for _, h := range obj.Status.History {
		s.History = append(s.History, decide.Known{Number: h.Version, Digest: h.Digest, Status: h.Status, Tested: h.HasBeenTested(), TestFailed: h.HasTestInPhase("Failed")})
	}
	return s
}

func policyOf(obj *helmv2.HelmRelease, r helmv2.Remediation, retry helmv2.Retry) decide.Policy {
	p := decide.Policy{Retries: r.GetRetries(), RemediateLast: r.MustRemediateLastFailure(), Uninstall: r.IsUninstallAfterUpgrade(), IgnoreTests: r.MustIgnoreTestFailures(obj.GetTest().IgnoreFailures)}
	if retry != nil {
		p.Retry = retry.GetRetryInterval()
	}
	return p
}

// digestOf is the digest of a part of the spec; empty for an empty one.
func digestOf(part any) string {
	data, err := json.Marshal(part)
	if err != nil || string(data) == "null" || string(data) == "[]" || string(data) == "{}" {
		return ""
	}
	sum := sha256.Sum256(append(data, '\n')) // as Flux's
	return "sha256:" + hex.EncodeToString(sum[:])
}

func rendering(renderers, metadata string) string { return renderers + " " + metadata }

// uninstalls reports whether the deletion of a HelmRelease uninstalls the release: not if suspended, as
// in Flux, nor if another home works on it.
func uninstalls(obj *helmv2.HelmRelease) bool { return !obj.Spec.Suspend && moving.Held(obj) == "" }

// remove uninstalls the release of a deleted HelmRelease, and lets it go.
func (r *Reconciler) remove(ctx context.Context, p *pass) outcome {
	a := &attempt{Reconciler: r, pass: p}
	err := a.uninstall(ctx)
	if a.session != nil {
		a.session.Close()
	}
	var access *accessError
	if errors.As(err, &access) {
		// As in Flux: nothing can be deleted without access, and the HelmRelease must not stay.
		r.event(p.obj, corev1.EventTypeWarning, helmv2.UninstallFailedReason, "the release stays, because there is no access to its cluster: "+access.message)
		err = nil
	}
	if err == nil {
		err = r.removeChart(ctx, p.obj)
	}
	if err == nil {
		err = r.release(ctx, p.obj)
	}
	if err != nil {
		setFailed(p.obj, helmv2.UninstallFailedReason, fmt.Sprintf("%s\nTo delete the HelmRelease and keep its release:\n    yuba kubectl patch helmrelease %s -n %s --type=merge -p '{\"spec\":{\"suspend\":true}}'", err, p.obj.Name, p.obj.Namespace))
		if err := r.writeAndTell(ctx, p.obj, p.before); err != nil {
			r.Log.Error("writing the status of a deleted HelmRelease failed", "helmrelease", p.name.String(), "error", err)
		}
		return outcome{failed: true}
	}
	return outcome{}
}

// uninstall uninstalls the release, if it is the one that was installed here.
func (a *attempt) uninstall(ctx context.Context) error {
	s := a.obj.Status
	if len(s.History) == 0 && s.LastAttemptedReleaseAction == "" {
		return nil
	}
	var err error
	if a.target, err = a.Reconciler.target(ctx, a.obj); err != nil {
		return err
	}
	if err = a.start(ctx); err != nil {
		return err
	}
	return a.uninstallAt(ctx, lastPlaceOf(a.obj), "")
}
