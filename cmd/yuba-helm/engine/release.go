// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"helm.sh/helm/v4/pkg/action"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/kube"
	"helm.sh/helm/v4/pkg/release/common"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"
	"helm.sh/helm/v4/pkg/storage/driver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/yuba-dev/yuba/internal/gitops/releases/wire"
)

// fieldManager is that of Flux's helm-controller, so that each can replace the other.
const fieldManager = "helm-controller"

// operation is one operation on a release.
type operation struct {
	call    *wire.Call
	config  *action.Configuration
	cluster *cluster
	chart   *chartv2.Chart
	values  map[string]any
}

// release executes a call about a release, and adds what is stored afterwards.
func (s *server) release(ctx context.Context, call *wire.Call, packed []byte, result *wire.Result) error {
	o := &operation{call: call, cluster: &cluster{transport: s, namespace: call.Release.Namespace}}
	var err error
	if o.values, err = merge(call.Values); err != nil {
		return err
	}
	result.ConfigDigest = digest(o.values)
	if packed != nil {
		if o.chart, err = load(packed); err != nil {
			return err
		}
		if o.chart.Metadata.Version, err = versionWith(o.chart.Metadata.Version, call.Options.VersionMetadata); err != nil {
			return err
		}
		result.Chart = describe(o.chart)
	}
	kube.ManagedFieldsManager = fieldManager
	o.config = action.NewConfiguration()
	if err := o.config.Init(o.cluster, call.Release.StorageNamespace, "secret"); err != nil {
		return fmt.Errorf("prepare Helm: %w", err)
	}
	if k, ok := o.config.KubeClient.(*kube.Client); ok {
		k.Namespace = call.Release.Namespace
	}
	err = o.run(ctx, result)
	if stored, objects, later := o.stored(); later == nil {
		result.Stored, result.Objects = stored, objects
	} else if err == nil {
		err = later
	}
	return err
}

func (o *operation) run(ctx context.Context, result *wire.Result) error {
	switch o.call.Operation {
	case wire.Observe:
		return nil
	case wire.Install:
		return o.install(ctx)
	case wire.Upgrade:
		return o.upgrade(ctx)
	case wire.Rollback:
		return o.rollback(ctx)
	case wire.Uninstall:
		return o.uninstall()
	case wire.Test:
		return o.test()
	case wire.Unlock:
		return o.unlock()
	case wire.Diff, wire.Correct:
		return o.compare(ctx, result)
	}
	return fmt.Errorf("the operation %q is unknown. This is a bug in Yuba", o.call.Operation)
}

// waiting returns how to wait for objects.
func (o *operation) waiting() kube.WaitStrategy {
	switch {
	case o.call.Options.DisableWait:
		return kube.HookOnlyStrategy
	case o.call.Options.LegacyWait:
		return kube.LegacyStrategy
	}
	return kube.StatusWatcherStrategy
}

func (o *operation) install(ctx context.Context) error {
	opts := o.call.Options
	if err := o.definitions(opts.CRDs); err != nil {
		return err
	}
	i := action.NewInstall(o.config)
	i.ReleaseName, i.Namespace = o.call.Release.Name, o.call.Release.Namespace
	i.Timeout, i.WaitStrategy, i.WaitForJobs = opts.Timeout, o.waiting(), !opts.DisableWait && !opts.DisableWaitForJobs
	i.DisableHooks, i.DisableOpenAPIValidation, i.SkipSchemaValidation = opts.DisableHooks, opts.DisableOpenAPIValidation, opts.DisableSchemaValidation
	i.TakeOwnership, i.Replace, i.CreateNamespace, i.SkipCRDs = !opts.DisableTakeOwnership, opts.Replace, opts.CreateNamespace, true
	i.ServerSideApply = opts.ServerSideApply != "disabled"
	i.ForceConflicts = i.ServerSideApply
	i.PostRenderStrategy = strategy(opts.Strategy)
	var err error
	if i.WaitOptions, err = o.waitOptions(ctx); err != nil {
		return err
	}
	if i.PostRenderer, err = postRenderer(opts); err != nil {
		return err
	}
	_, err = i.RunWithContext(ctx, o.chart, o.values)
	return explain(err, opts.Timeout)
}

func strategy(name string) action.PostRenderStrategy {
	if name == "" {
		return action.PostRenderStrategyCombined
	}
	return action.PostRenderStrategy(name)
}

// applying is Helm's word for a mode of server-side apply.
func applying(mode string) string {
	switch mode {
	case "enabled":
		return "true"
	case "disabled":
		return "false"
	}
	return "auto"
}

func (o *operation) upgrade(ctx context.Context) error {
	opts := o.call.Options
	if err := o.definitions(opts.CRDs); err != nil {
		return err
	}
	u := action.NewUpgrade(o.config)
	u.Namespace, u.MaxHistory = o.call.Release.Namespace, opts.MaxHistory
	u.Timeout, u.WaitStrategy, u.WaitForJobs = opts.Timeout, o.waiting(), !opts.DisableWait && !opts.DisableWaitForJobs
	u.DisableHooks, u.DisableOpenAPIValidation, u.SkipSchemaValidation = opts.DisableHooks, opts.DisableOpenAPIValidation, opts.DisableSchemaValidation
	u.TakeOwnership, u.ForceReplace, u.CleanupOnFail, u.SkipCRDs = !opts.DisableTakeOwnership, opts.Force, opts.CleanupOnFail, true
	u.ResetValues, u.ReuseValues = !opts.PreserveValues, opts.PreserveValues
	u.ServerSideApply = applying(opts.ServerSideApply)
	if opts.Force {
		u.ServerSideApply = "false" // the API cannot replace by apply
	}
	u.ForceConflicts = u.ServerSideApply != "false" && o.applied(u.ServerSideApply)
	u.PostRenderStrategy = strategy(opts.Strategy)
	var err error
	if u.WaitOptions, err = o.waitOptions(ctx); err != nil {
		return err
	}
	if u.PostRenderer, err = postRenderer(opts); err != nil {
		return err
	}
	_, err = u.RunWithContext(ctx, o.call.Release.Name, o.chart, o.values)
	return explain(err, opts.Timeout)
}

// applied reports whether server-side apply is used: Helm refuses to force conflicts otherwise.
func (o *operation) applied(mode string) bool {
	if mode == "true" {
		return true
	}
	last, err := o.last()
	return err == nil && last.ApplyMethod == string(releasev1.ApplyMethodServerSideApply)
}

func (o *operation) rollback(ctx context.Context) (err error) {
	opts := o.call.Options
	r := action.NewRollback(o.config)
	r.Version, r.MaxHistory, r.Timeout = o.call.Release.Version, opts.MaxHistory, opts.Timeout
	r.WaitStrategy, r.WaitForJobs, r.DisableHooks = o.waiting(), !opts.DisableWait && !opts.DisableWaitForJobs, opts.DisableHooks
	r.ForceReplace, r.CleanupOnFail = opts.Force, opts.CleanupOnFail
	r.ServerSideApply = applying(opts.ServerSideApply)
	if opts.Force {
		r.ServerSideApply = "false"
	}
	r.ForceConflicts = r.ServerSideApply != "false" && o.applied(r.ServerSideApply)
	if r.WaitOptions, err = o.waitOptions(ctx); err != nil {
		return err
	}
	return explain(r.Run(o.call.Release.Name), opts.Timeout)
}

func (o *operation) uninstall() error {
	opts := o.call.Options
	u := action.NewUninstall(o.config)
	u.Timeout, u.DisableHooks, u.KeepHistory, u.DeletionPropagation = opts.Timeout, opts.DisableHooks, opts.KeepHistory, opts.Propagation
	u.WaitStrategy, u.IgnoreNotFound = o.waiting(), true
	_, err := u.Run(o.call.Release.Name)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return nil
	}
	return explain(err, opts.Timeout)
}

func (o *operation) test() error {
	t := action.NewReleaseTesting(o.config)
	t.Namespace, t.Timeout = o.call.Release.Namespace, o.call.Options.Timeout
	for _, f := range o.call.Options.Filters {
		key := action.IncludeNameFilter
		if f.Exclude {
			key = action.ExcludeNameFilter
		}
		t.Filters[key] = append(t.Filters[key], f.Name)
	}
	_, shutdown, err := t.Run(o.call.Release.Name)
	if later := shutdown(); err == nil {
		err = later
	}
	return explain(err, o.call.Options.Timeout)
}

// unlock marks a pending release as failed.
func (o *operation) unlock() error {
	last, err := o.last()
	if err != nil {
		return err
	}
	if !last.Info.Status.IsPending() {
		return nil
	}
	was := last.Info.Status
	last.SetStatus(common.StatusFailed, fmt.Sprintf("Release unlocked from stale '%s' state", was))
	return o.config.Releases.Update(last)
}

func (o *operation) last() (*releasev1.Release, error) {
	found, err := o.config.Releases.Last(o.call.Release.Name)
	if err != nil {
		return nil, err
	}
	last, ok := found.(*releasev1.Release)
	if !ok {
		return nil, errors.New("the stored release has an unknown version")
	}
	return last, nil
}

// definitions applies the CRDs of a chart, which Helm itself never changes.
func (o *operation) definitions(policy string) error {
	found := o.chart.CRDObjects()
	if policy == "Skip" || len(found) == 0 {
		return nil
	}
	for _, d := range found {
		resources, err := o.config.KubeClient.Build(bytes.NewReader(d.File.Data), false)
		if err != nil {
			return fmt.Errorf("read the chart's CRDs in %s: %w", d.Filename, err)
		}
		for _, one := range resources {
			_, err := o.config.KubeClient.Create(kube.ResourceList{one}, kube.ClientCreateOptionServerSideApply(false, false))
			if apierrors.IsAlreadyExists(err) && policy == "CreateReplace" {
				_, err = o.config.KubeClient.Update(kube.ResourceList{one}, kube.ResourceList{one}, kube.ClientUpdateOptionServerSideApply(true, true))
			}
			if err != nil && !apierrors.IsAlreadyExists(err) {
				return fmt.Errorf("apply the chart's CRD %s: %w", one.Name, err)
			}
		}
		waiter, err := o.config.KubeClient.GetWaiter(kube.StatusWatcherStrategy)
		if err != nil {
			return err
		}
		if err := waiter.Wait(resources, time.Minute); err != nil {
			return fmt.Errorf("wait for the chart's CRDs in %s: %w", d.Filename, err)
		}
	}
	o.cluster.refresh()
	return nil
}

// explain says which limit ended an operation.
func explain(err error, timeout time.Duration) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("it did not end within its timeout of %s: %w", timeout, err)
	}
	return err
}
