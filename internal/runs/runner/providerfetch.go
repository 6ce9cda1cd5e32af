// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"github.com/yuba-dev/yuba/internal/runs/runner/fetch"
	"github.com/yuba-dev/yuba/internal/runs/runner/meter"
)

func (d *downloads) fetcher() *fetch.Fetcher {
	return &fetch.Fetcher{Tool: d.site.space.Tool, Sandbox: d.task.opts.Sandbox, Mirror: d.task.opts.ProviderMirror, Walls: d.task.walls, Users: d.task.users, Limits: meter.ProcessLimits(d.task.spec.Limits, d.task.walls), Config: d.task.spec.CLIConfig, Env: d.scoped.env, Authorities: d.scoped.authorities, Mask: d.task.mask}
}
