// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/build"
	kustomizations "github.com/yuba-dev/yuba/internal/gitops/kustomizations/controller"
)

// buildKustomization runs builds that may need much memory in a separate process.
func (e *engine) buildKustomization(ctx context.Context, in build.Input) (*build.Result, error) {
	in.Programs = beside
	return build.Build(ctx, in)
}

// addKustomizations adds the controller that applies Kustomizations.
func (e *engine) addKustomizations(ctx context.Context, direct client.Client) error {
	// Builds of an earlier server are useless.
	scratch := filepath.Join(e.dir.Sources(), "builds")
	if err := os.RemoveAll(scratch); err != nil {
		return fmt.Errorf("clear the directory for builds: %w", err)
	}
	if err := os.MkdirAll(scratch, 0o700); err != nil {
		return fmt.Errorf("make the directory for builds: %w", err)
	}
	r := &kustomizations.Reconciler{
		Client: direct, Reader: direct, Events: e.events, Config: e.manager.GetConfig(), Archives: e.blobs,
		Limits: archive.Limits{MaxPacked: e.opts.limits().ArchiveBytes}.WithDefaults(), Build: e.buildKustomization, Scratch: scratch,
		DefaultServiceAccount: e.opts.DefaultServiceAccount, AllowCrossNamespace: e.opts.AllowCrossNamespace, Now: time.Now, Log: e.opts.Log,
		Observe: e.observeAttempt,
	}
	if err := r.SetupWithManager(ctx, e.manager); err != nil {
		return fmt.Errorf("set up the Kustomization controller: %w", err)
	}
	return nil
}
