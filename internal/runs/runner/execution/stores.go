// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"context"
	"path/filepath"
	"time"

	"github.com/yuba-dev/yuba/internal/registry/modules"
	"github.com/yuba-dev/yuba/internal/registry/providers"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// openModules makes the store of modules ready. It is there when there is one of providers.
func (q *Equipment) openModules() (err error) {
	q.Modules, err = modules.Open(filepath.Join(q.Opts.Dir, "modules"))
	return err
}

// TidyModules removes what an earlier runner left half done in the store, and from time to time what is not used.
func (q *Equipment) TidyModules(ctx context.Context) {
	if q.Modules == nil {
		return
	}
	if err := q.Modules.Clean(); err != nil {
		q.Opts.Log.Warn("downloads of modules that were given up are left", "error", err)
	}
	ticker := time.NewTicker(collectInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			q.CollectModules()
		case <-ctx.Done():
			return
		}
	}
}

func (q *Equipment) CollectModules() {
	done, err := q.Modules.Collect(modules.DefaultLimits())
	if err != nil {
		q.Opts.Log.Warn("collect modules that nobody uses", "error", err)
	}
	if done.Packages > 0 {
		q.Opts.Log.Info("removed modules that nobody uses", "packages", done.Packages, "bytes", done.Bytes)
	}
}

// collectInterval is how often the runner looks for providers that nobody uses any more.
const collectInterval = time.Hour

// TidyProviders removes what an earlier runner left half done in the store, and from time to time what is not used.
func (q *Equipment) TidyProviders(ctx context.Context) {
	if q.Store == nil {
		return
	}
	if err := q.Store.Clean(); err != nil {
		q.Opts.Log.Warn("downloads of providers that were given up are left", "error", err)
	}
	ticker := time.NewTicker(collectInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			q.collectProviders()
		case <-ctx.Done():
			return
		}
	}
}

func (q *Equipment) collectProviders() {
	linked := map[string]bool{}
	for dir := range workspace.ProviderLinks(q.Opts.WorkRoot) {
		linked[dir] = true
	}
	done, err := q.Store.Collect(providers.Limits{Unused: q.Opts.ProviderUnused, Bytes: q.Opts.ProviderBytes}, linked)
	if err != nil {
		q.Opts.Log.Warn("collect providers that nobody uses", "error", err)
	}
	if done.Packages > 0 {
		q.Opts.Log.Info("removed providers that nobody uses", "packages", done.Packages, "bytes", done.Bytes)
	}
}

// OpenStore makes the stores of providers and modules ready, if they are to be.
func (q *Equipment) OpenStore() (err error) {
	if q.Opts.ProviderStore == "" {
		return nil
	}
	if q.Store, err = providers.Open(q.Opts.ProviderStore); err != nil {
		return err
	}
	return q.openModules()
}
