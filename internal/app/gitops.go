// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/build"
	kustomizations "github.com/yuba-dev/yuba/internal/gitops/kustomizations/controller"
	sources "github.com/yuba-dev/yuba/internal/gitops/sources/controller"
	"github.com/yuba-dev/yuba/internal/gitops/sources/identity"
)

// addGitOps adds the controllers that replace Flux.
func (e *engine) addGitOps(ctx context.Context, direct client.Client) error {
	helm, err := e.servesHelm()
	if err != nil {
		return err
	}
	if err := e.addSources(ctx, direct, helm); err != nil {
		return err
	}
	if err := e.addKustomizations(ctx, direct); err != nil {
		return err
	}
	if helm {
		if err := e.addReleases(ctx, direct); err != nil {
			return err
		}
	}
	if err := e.addImages(ctx, direct); err != nil {
		return err
	}
	return e.addReceivers(ctx)
}

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
		return fmt.Errorf("create the directory for builds: %w", err)
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

// ownArchive reports whether this server, at any address, created the URL of an archive.
func (e *engine) ownArchive(url string) bool { return content.OwnArchive(url, e.blobs.ID()) }

// SourceIdentities are the clouds that an administrator may allow sources to use.
var SourceIdentities = identity.Providers

// CheckSourceIdentities validates names of clouds.
func CheckSourceIdentities(names []string) error {
	if _, err := identity.New(names); err != nil {
		return fmt.Errorf("--source-identities: %w", err)
	}
	return nil
}

// addSources adds the source controllers, with those of charts if the kinds of Helm are served.
func (e *engine) addSources(ctx context.Context, direct client.Client, helm bool) error {
	limits := archive.Limits{MaxPacked: e.opts.limits().ArchiveBytes}.WithDefaults()
	s := &sources.Sources{
		Client: direct, Reader: direct, Events: e.events, Store: e.blobs, Limits: limits, Log: e.opts.Log, Observe: e.observeLook,
		Dir: filepath.Join(e.dir.Sources(), "trees"),
		ArchiveURL: func(plural string, name types.NamespacedName, digest string) string {
			return content.ArchiveURL(e.content.ArchiveURL, plural, name, digest, e.blobs.ID())
		},
	}
	identities, err := identity.New(e.opts.SourceIdentities)
	if err != nil {
		return err
	}
	s.Git, s.OCI = sources.NewGit(direct, e.mirrors), sources.NewOCI(direct, limits, identities)
	s.Bucket = sources.NewBucket(direct, limits, identities)
	if helm {
		s.Charts = newChartReader()
	}
	if err := s.SetupWithManager(ctx, e.manager); err != nil {
		return fmt.Errorf("set up the sources: %w", err)
	}
	e.gitNews = append(e.gitNews, s.GitNews)
	return nil
}
