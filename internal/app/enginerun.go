// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"os/user"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/speculative"
	"github.com/yuba-dev/yuba/internal/stacks/reads"
)

// resume takes over the runs of an earlier server before any runner connects, because a runner must
// drop the runs that this server does not know.
func (e *engine) resume(ctx context.Context, direct client.Reader) error {
	return reads.EachStack(ctx, direct, func(s *infrav1.Terraform) error {
		if s.Status.CurrentRun == nil {
			return nil
		}
		stack := run.StackOf(s)
		// One unreadable record must not stop the others; the stack's controller handles it.
		if _, err := e.executor.Resume(ctx, stack, s.Status.CurrentRun.ID); err != nil && !errors.Is(err, run.ErrNotFound) {
			e.opts.Log.Error("resuming a run failed", "stack", stack.String(), "run", s.Status.CurrentRun.ID, "error", err)
		}
		return nil
	})
}

// announce notifies the stack controller of the end of a run. The executor must not wait, so a
// goroutine waits if the channel is full.
func (e *engine) announce(s run.Stack) {
	if speculative.Of(s) {
		go e.tries.desk.Over(s)
		return
	}
	select {
	case e.ended <- s:
	default:
		go func() { e.ended <- s }()
	}
}

func (e *engine) info(ctx context.Context) content.ServerInfo {
	info := e.aboutRuns(ctx)
	info.Moves, info.MovesNames = true, true
	return info
}

func (e *engine) aboutRuns(ctx context.Context) content.ServerInfo {
	inHand, waiting := e.executor.Busy()
	if e.pods != nil {
		return content.ServerInfo{Version: e.opts.Version, RunnerImage: e.pods.Image, Started: e.started, Waiting: waiting, Running: inHand - waiting}
	}
	installed := e.tools.List(ctx)
	for i := range installed {
		installed[i].Runner = hostname()
	}
	return content.ServerInfo{Version: e.opts.Version, Tool: e.tool.path, ToolVersion: e.tool.version,
		Confined: e.tool.walls.Complete(), Walls: e.tool.walls.Summary(), MissingWalls: e.tool.missingWalls(), Started: e.started, Waiting: waiting, Running: inHand - waiting, Tools: installed}
}

// holder names this server in locks: user@host, as tofu does.
func holder() string {
	name := "yuba"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return name + "@" + strings.ToLower(hostname())
}
