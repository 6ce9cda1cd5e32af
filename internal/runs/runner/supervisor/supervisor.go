// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/fetch"
	"github.com/yuba-dev/yuba/internal/runs/runner/statekeeper"
	"github.com/yuba-dev/yuba/internal/runs/runner/usage"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
	"github.com/yuba-dev/yuba/internal/tofu/summary"
)

// Supervisor runs tofu in the working directory and reads its output.
type Supervisor struct {
	run    *execution.Run
	site   *execution.Site
	keeper *statekeeper.Keeper
	// Mirrors returns the directories that providers are linked from.
	Mirrors func() []string
	// Connection connects programs to the server's registry; nil for none.
	Connection *fetch.Connection
	// subject is the run in the meter, nil before its first process.
	subject *usage.Subject
	// Orderly has the steps whose last process ended normally.
	Orderly map[run.Step]bool
	// Direct is true once one process plans and applies; begun once it changes something.
	Direct bool
	Begun  atomic.Bool
	// InitSaid has the warnings of init.
	InitSaid diagnostic.List
	// logStart is the log's length when the running process started.
	logStart int64
	// Doubt says why output lines of the last process may be missing; empty if none are. reserve is
	// the disk space to allocate ahead of its output, secured up to which offset it exists.
	Doubt            string
	reserve, secured int64
}

// New makes a supervisor that has not run a process yet.
func New(t *execution.Run, at *execution.Site, keeper *statekeeper.Keeper) *Supervisor {
	return &Supervisor{run: t, site: at, keeper: keeper, Orderly: map[run.Step]bool{}}
}

// Measured is the run in the meter.
func (g *Supervisor) Measured() *usage.Subject {
	if g.subject == nil {
		g.subject = usage.NewSubject(g.run.ID, &g.run.Spec, g.keeper.HeldStates)
	}
	return g.subject
}

// InitCommand runs one process of init; unselected leaves the workspace out of its environment.
func (g *Supervisor) InitCommand(ctx context.Context, unselected bool, args ...string) error {
	c := Command{Step: run.StepInit, Args: args, Unselected: unselected}
	stream, e, err := g.Tofu(ctx, c)
	if err != nil {
		return err
	}
	g.run.TakeWarnings(stream)
	g.InitSaid = append(g.InitSaid, stream.Diagnostics.Warnings()...)
	for _, d := range stream.Errors() {
		if d.Summary == summary.Backend {
			return &fault.Failure{Class: run.FailureConfiguration, Err: fmt.Errorf("%w: %w", ErrOtherBackend, stream.Errors())}
		}
	}
	return g.Verdict(c, stream, e, 0)
}

// ErrOtherBackend means that the directory was initialised with another backend.
var ErrOtherBackend = errors.New("the backend has changed")

// Document runs a command and returns its JSON output.
func (g *Supervisor) Document(ctx context.Context, c Command, limit int64) ([]byte, error) {
	c.Capture = &fetch.Bounded{Limit: limit}
	stream, e, err := g.Tofu(ctx, c)
	if err != nil {
		return nil, err
	}
	if c.Capture.Over {
		return nil, fault.New(run.FailureLimit, "read the output of %s %s: it exceeds the limit of %d bytes", g.site.Space.Tool.Name, c.Step, limit)
	}
	if err := g.Verdict(c, stream, e, 0); err != nil {
		return nil, err
	}
	if text := c.Capture.Bytes(); json.Valid(text) {
		return text, nil
	}
	return nil, fault.New(run.FailureTool, "read the output of %s %s: it is not JSON", g.site.Space.Tool.Name, c.Step)
}

// Said is the tool's text output, masked, without empty lines.
func (g *Supervisor) Said(stream *plan.Stream) string {
	lines := slices.DeleteFunc(slices.Clone(stream.Raw), func(l string) bool { return strings.TrimSpace(l) == "" })
	text := strings.Join(lines, "\n")
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "\n…"
	}
	return g.run.Mask.Text(text)
}

// maxText limits the output of a state operation in its result.
const maxText = 16 << 10
