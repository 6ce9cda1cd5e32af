// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/gitops/sources/git"
	"github.com/yuba-dev/yuba/internal/gitops/sources/tags"
)

const (
	// mirrorIdle is how long an unused mirror is kept: a deleted branch may come back.
	mirrorIdle = 7 * 24 * time.Hour
	// mirrorBytes limits all mirrors on disk.
	mirrorBytes = 50 << 30
)

// openMirrors opens the mirrors of git repositories, which sources and ModuleSources share. Call it
// before adding either; what they add to gitNews is called later.
func (e *engine) openMirrors() (err error) {
	limits := archive.Limits{MaxPacked: e.opts.limits().ArchiveBytes}.WithDefaults()
	e.mirrors, err = git.Open(filepath.Join(e.dir.Sources(), "git"), git.Options{FileDirs: e.opts.FileSources, MaxPack: limits.MaxPacked,
		MaxTree: limits.MaxUnpacked, MaxEntries: limits.MaxEntries, News: func(upstream string) {
			for _, tell := range e.gitNews {
				tell(upstream)
			}
		}})
	if err != nil {
		return err
	}
	e.collects = append(e.collects, func(ctx context.Context) error {
		_, err := e.mirrors.Collect(ctx, mirrorIdle, mirrorBytes)
		return err
	})
	return nil
}

// addModuleSources adds the controller that publishes tags. It also runs beside Flux, which has no
// such kind.
func (e *engine) addModuleSources(ctx context.Context, direct client.Client) error {
	served, err := serves(e.manager.GetRESTMapper(), yubav1.GroupVersion.WithKind(yubav1.ModuleSourceKind))
	if err != nil {
		return err
	}
	if !served {
		e.opts.Log.Warn("this API does not serve the kind ModuleSource, so no tags are published. " + installMissing)
		return nil
	}
	p := &tags.Publisher{Client: direct, Reader: direct, Events: e.events, Git: e.mirrors, Registry: e.registry.modules,
		Dir: filepath.Join(e.dir.Sources(), "tags"), Limits: archive.Limits{MaxPacked: e.opts.limits().ArchiveBytes}, Log: e.opts.Log}
	if err := p.SetupWithManager(ctx, e.manager); err != nil {
		return fmt.Errorf("set up the module sources: %w", err)
	}
	e.gitNews = append(e.gitNews, p.GitNews)
	return nil
}
