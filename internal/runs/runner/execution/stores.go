// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/yuba-dev/yuba/internal/registry/modules"
	"github.com/yuba-dev/yuba/internal/registry/providers"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// collectInterval is how often the runner removes unused providers and modules.
const collectInterval = time.Hour

// OpenStores opens the stores of providers and modules, if the runner has them.
func (q *Equipment) OpenStores() (err error) {
	if q.Opts.ProviderStore == "" {
		return nil
	}
	if q.Store, err = providers.Open(q.Opts.ProviderStore); err != nil {
		return err
	}
	q.Modules, err = modules.Open(filepath.Join(q.Opts.Dir, "modules"))
	return err
}

// TidyStores removes the downloads that an earlier runner abandoned, and regularly what no stack uses.
func (q *Equipment) TidyStores(ctx context.Context) {
	if q.Store == nil {
		return
	}
	if err := errors.Join(q.Store.Clean(), q.Modules.Clean()); err != nil {
		q.Opts.Log.Warn("remove abandoned downloads", "error", err)
	}
	ticker := time.NewTicker(collectInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			q.collectProviders()
			q.CollectModules()
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
	q.logCollected("providers", done.Packages, done.Bytes, err)
}

// CollectModules removes modules that no stack has used for a while.
func (q *Equipment) CollectModules() {
	done, err := q.Modules.Collect(modules.DefaultLimits())
	q.logCollected("modules", done.Packages, done.Bytes, err)
}

func (q *Equipment) logCollected(what string, packages int, bytes int64, err error) {
	if err != nil {
		q.Opts.Log.Warn("remove unused "+what, "error", err)
	}
	if packages > 0 {
		q.Opts.Log.Info("removed unused "+what, "packages", packages, "bytes", bytes)
	}
}
