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

// The parts of a job. Each knows the parts that it needs, and no part knows the job.

// Equipment is what all jobs of a runner share.
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
	// Modules keeps modules from elsewhere for all stacks; nil without a store of providers.
	Modules *modules.Store
	// Places are taken by the jobs that work.
	Places chan struct{}
	// Walls are what confines programs here, users those that they get.
	Walls confinement.Walls
	Users *confinement.Users
	// Meter measures what runs take.
	Meter *meter.Meter
	// Processes counts the tofu processes that are running.
	Processes atomic.Int32
}

// Disks are directories on all disks that runs write to.
func (q *Equipment) Disks() []string {
	if q.Walls.Alone() {
		return []string{q.Opts.WorkRoot, q.Opts.Dir}
	}
	return []string{q.Opts.WorkRoot, q.Opts.Dir, filepath.Dir(workspace.TempPrefix)}
}

func (q *Equipment) SpoolDir(id string) string { return filepath.Join(q.Opts.Dir, "runs", id) }

func (q *Equipment) OrphanDir(id string) string { return filepath.Join(q.Opts.Dir, "orphans", id) }
