// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/registry/providers"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// collectInterval is how often the runner looks for providers that nobody uses any more.
const collectInterval = time.Hour

// tidyProviders removes what an earlier runner left half done in the store, and from time to time what is not used.
func (q *equipment) tidyProviders(ctx context.Context) {
	if q.store == nil {
		return
	}
	if err := q.store.Clean(); err != nil {
		q.opts.Log.Warn("downloads of providers that were given up are left", "error", err)
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

func (q *equipment) collectProviders() {
	linked := map[string]bool{}
	for dir := range workspace.ProviderLinks(q.opts.WorkRoot) {
		linked[dir] = true
	}
	done, err := q.store.Collect(providers.Limits{Unused: q.opts.ProviderUnused, Bytes: q.opts.ProviderBytes}, linked)
	if err != nil {
		q.opts.Log.Warn("collect providers that nobody uses", "error", err)
	}
	if done.Packages > 0 {
		q.opts.Log.Info("removed providers that nobody uses", "packages", done.Packages, "bytes", done.Bytes)
	}
}

// keepProviders holds the packages of the store that an earlier init has linked to. It reports false when one of them is
// gone: then init has to run again.
func (s *providerStep) keepProviders() bool {
	scope := s.downloads.providerScope()
	for _, target := range workspace.LinksBelow(s.site.space.Root.Root, s.site.space.Module) {
		if _, err := os.Stat(target); err != nil {
			return false
		}
		if scope == nil {
			continue
		}
		relative, err := filepath.Rel(scope.Mirror(), target)
		parts := strings.Split(filepath.ToSlash(relative), "/")
		if err != nil || len(parts) != 5 || parts[0] == ".." {
			continue
		}
		a, err := providers.ParseAddress(strings.Join(parts[:3], "/"), "")
		if err != nil {
			continue
		}
		held, err := scope.Hold(a, parts[3])
		if err != nil || held == nil {
			return false
		}
		s.providing.packages = append(s.providing.packages, held)
	}
	return true
}
