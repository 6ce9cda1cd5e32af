// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/yuba-dev/yuba/internal/registry/download"
	"github.com/yuba-dev/yuba/internal/registry/modules"
	"github.com/yuba-dev/yuba/internal/registry/providers"
	"github.com/yuba-dev/yuba/internal/runs/confinement"
	"github.com/yuba-dev/yuba/internal/runs/runner/initcache"
	"github.com/yuba-dev/yuba/internal/runs/runner/link"
	"github.com/yuba-dev/yuba/internal/runs/runner/tools"
	"github.com/yuba-dev/yuba/internal/runs/runner/usage"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// Equipment is shared by all runs of a runner.
type Equipment struct {
	Opts   Options
	Server *link.Server
	Tools  *tools.Box
	// ToolFlights are the tools that come from the server's registry now.
	ToolFlights download.Flights
	Area        *workspace.Area
	Inits       *initcache.Cache
	Artifacts   *workspace.Artifacts
	Trees       *workspace.Trees
	// Store keeps providers for all stacks; nil without one.
	Store *providers.Store
	// Modules keeps modules of other origins for all stacks; nil without a store of providers.
	Modules *modules.Store
	// Places has an element for each run that works.
	Places chan struct{}
	// Walls confine programs on this machine. Users are the programs' user ids.
	Walls confinement.Walls
	Users *confinement.Users
	// HomeLink says that confinement.HomePath is a link to the home of the run: in a Pod without
	// namespaces, where only one run works at a time.
	HomeLink bool
	// Meter measures the resource usage of runs.
	Meter *usage.Meter
	// Processes counts the tofu processes that are running.
	Processes atomic.Int32
	// lines are the runs whose tokens the server's registry knows.
	lines lines
	// tunnels is true once this machine was found to support isolated networks.
	tunnels atomic.Bool
}

// probeTunnel reports why runs cannot have isolated networks. It tries again after a failure, which
// may be momentary.
func (q *Equipment) probeTunnel() error {
	if q.tunnels.Load() {
		return nil
	}
	err := q.Walls.ProbeTunnel(context.Background())
	q.tunnels.Store(err == nil)
	return err
}

// Disks returns a directory on each disk that runs write to.
func (q *Equipment) Disks() []string {
	if q.Walls.Alone() {
		return []string{q.Opts.WorkRoot, q.Opts.Dir}
	}
	return []string{q.Opts.WorkRoot, q.Opts.Dir, filepath.Dir(workspace.TempPrefix)}
}

// SpoolDir is the spool directory of a run.
func (q *Equipment) SpoolDir(id string) string { return filepath.Join(q.Opts.Dir, "runs", id) }

// OrphanDir has states that the server did not accept.
func (q *Equipment) OrphanDir(id string) string { return filepath.Join(q.Opts.Dir, "orphans", id) }

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

// TidyStores removes abandoned downloads at once, and unused ones regularly.
func (q *Equipment) TidyStores(ctx context.Context) {
	if q.Store == nil {
		return
	}
	if err := errors.Join(q.Store.Clean(), q.Modules.Clean()); err != nil {
		q.Opts.Log.Warn("cannot remove abandoned downloads", "error", err)
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
		q.Opts.Log.Warn("cannot remove unused "+what, "error", err)
	}
	if packages > 0 {
		q.Opts.Log.Info("removed unused "+what, "packages", packages, "bytes", bytes)
	}
}
