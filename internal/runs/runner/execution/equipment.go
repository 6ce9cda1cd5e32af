// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"path/filepath"
	"sync/atomic"

	"github.com/yuba-dev/yuba/internal/registry/modules"
	"github.com/yuba-dev/yuba/internal/registry/providers"
	"github.com/yuba-dev/yuba/internal/runs/confinement"
	"github.com/yuba-dev/yuba/internal/runs/runner/initcache"
	"github.com/yuba-dev/yuba/internal/runs/runner/link"
	"github.com/yuba-dev/yuba/internal/runs/runner/meter"
	"github.com/yuba-dev/yuba/internal/runs/runner/tools"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// Equipment is shared by all runs of a runner.
type Equipment struct {
	Opts      Options
	Server    *link.Server
	Tools     *tools.Box
	Area      *workspace.Area
	Inits     *initcache.Cache
	Artifacts *workspace.Artifacts
	Trees     *workspace.Trees
	// Store keeps providers for all stacks; nil without one.
	Store *providers.Store
	// Modules keeps modules of other origins for all stacks; nil without a store of providers.
	Modules *modules.Store
	// Places has an element for each run that works.
	Places chan struct{}
	// Walls confine programs on this machine. Users are the user ids that programs get.
	Walls confinement.Walls
	Users *confinement.Users
	// Meter measures the resource usage of runs.
	Meter *meter.Meter
	// Processes counts the tofu processes that are running.
	Processes atomic.Int32
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

// OrphanDir is where states are kept that the server did not take.
func (q *Equipment) OrphanDir(id string) string { return filepath.Join(q.Opts.Dir, "orphans", id) }
