// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	releases "github.com/yuba-dev/yuba/internal/gitops/releases/controller"
	"github.com/yuba-dev/yuba/internal/gitops/releases/session"
	"github.com/yuba-dev/yuba/internal/gitops/releases/wire"
	sources "github.com/yuba-dev/yuba/internal/gitops/sources/controller"
	"github.com/yuba-dev/yuba/internal/kit/limiter"
)

// servesHelm reports whether the API serves all kinds of Helm. Yuba works on all of them or on none.
func (e *engine) servesHelm() (bool, error) {
	for _, kind := range []schema.GroupVersionKind{helmv2.GroupVersion.WithKind(helmv2.HelmReleaseKind),
		sourcev1.GroupVersion.WithKind(sourcev1.HelmRepositoryKind), sourcev1.GroupVersion.WithKind(sourcev1.HelmChartKind)} {
		served, err := serves(e.manager.GetRESTMapper(), kind)
		if err != nil {
			return false, err
		}
		if !served {
			e.opts.Log.Info("this API does not serve the kind " + kind.Kind + ", so Helm charts are not installed. " + installMissing)
			return false, nil
		}
	}
	return true, nil
}

// addReleases adds the controller of HelmReleases.
func (e *engine) addReleases(ctx context.Context, direct client.Client) error {
	r := &releases.Reconciler{
		Client: direct, Reader: direct, Events: e.events, Config: e.manager.GetConfig(), Archives: e.blobs, Programs: beside,
		DefaultServiceAccount: e.opts.DefaultServiceAccount, AllowCrossNamespace: e.opts.AllowCrossNamespace, Now: time.Now, Log: e.opts.Log,
	}
	if err := r.SetupWithManager(ctx, e.manager); err != nil {
		return fmt.Errorf("set up the HelmRelease controller: %w", err)
	}
	return nil
}

// maxCharts is the number of charts that are read concurrently.
const maxCharts = 2

// chartReader reads charts in processes of yuba-helm: they are foreign archives.
type chartReader struct{ places *limiter.Limiter }

func newChartReader() *chartReader { return &chartReader{limiter.New(maxCharts)} }

var _ sources.Charts = (*chartReader)(nil)

// do executes one call.
func (c *chartReader) do(ctx context.Context, call *wire.Call, input []byte) (*wire.Result, []byte, error) {
	leave, err := c.places.Take(ctx, "")
	if err != nil {
		return nil, nil, err
	}
	defer leave()
	s, err := session.Start(ctx, beside, nil)
	if err != nil {
		return nil, nil, err
	}
	defer s.Close()
	result, err := s.Do(ctx, call, input)
	if limit, ok := err.(*session.LimitError); ok { //nolint:errorlint // it is never wrapped
		return nil, nil, &sources.ChartError{Message: limit.Error()}
	}
	if err != nil {
		return nil, nil, err
	}
	if f := result.Failure; f != nil {
		return nil, nil, &sources.ChartError{Message: f.Message}
	}
	return result, s.Output(), nil
}

// Resolve implements sources.Charts.
func (c *chartReader) Resolve(ctx context.Context, index []byte, name, version string) (sources.ChartVersion, error) {
	result, _, err := c.do(ctx, &wire.Call{Operation: wire.Resolve, Chart: wire.ChartReference{Name: name, Version: version}}, index)
	return versionIn(result), err
}

// Package implements sources.Charts.
func (c *chartReader) Package(ctx context.Context, tree []byte, request sources.ChartRequest) ([]byte, sources.ChartVersion, error) {
	ref := wire.ChartReference{Path: request.Path, ValuesFiles: request.ValuesFiles, IgnoreMissing: request.IgnoreMissing, Metadata: request.Metadata}
	result, packed, err := c.do(ctx, &wire.Call{Operation: wire.Package, Chart: ref}, tree)
	return packed, versionIn(result), err
}

// Inspect implements sources.Charts.
func (c *chartReader) Inspect(ctx context.Context, archive []byte) (sources.ChartVersion, error) {
	result, _, err := c.do(ctx, &wire.Call{Operation: wire.Inspect}, archive)
	return versionIn(result), err
}

func versionIn(result *wire.Result) sources.ChartVersion {
	if result == nil {
		return sources.ChartVersion{}
	}
	c := result.Chart
	return sources.ChartVersion{Name: c.Name, Version: c.Version, Digest: c.Digest, URLs: c.URLs}
}
