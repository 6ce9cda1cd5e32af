// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"errors"
	"os"
	"slices"
	"sync/atomic"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// OutputReserve is disk space for an apply's output, besides three times the state's size.
const OutputReserve = 4 << 20

// BeginApply records on disk that an apply begins. Otherwise, after a power cut, the state in the
// working directory would look old, and missing output as if the tool never ran.
func (g *Supervisor) BeginApply() error {
	g.run.Lock()
	defer g.run.Unlock()
	next := g.run.Journal
	next.ApplyStarted, next.Direct, next.Steps = true, g.Direct, slices.Clone(g.run.Result.Steps)
	next.Process = &process.Record{Step: run.StepApply, LogStart: g.run.Log.Length(), Boot: process.BootID(), Mount: process.MountID(g.run.Dir.Root), Secured: OutputReserve}
	err := errors.Join(g.run.Dir.WriteJSON(spool.ApplyFile, spool.ApplyRecord{Journal: next, Spec: &g.run.Spec, Token: g.run.Token}), g.run.Dir.WriteJSON(spool.JournalFile, next))
	for _, end := range []string{spool.OutEnd, spool.ErrEnd} {
		err = errors.Join(err, os.WriteFile(g.run.Dir.Path(string(run.StepApply)+end), nil, 0o600))
	}
	if err == nil {
		err = g.run.Dir.Sync(spool.SpecFile, spool.TokenFile, spool.ApplyFile, spool.JournalFile, "", "..")
	}
	if err != nil {
		return fault.New(run.FailureDisk, "begin the apply: cannot record what recovery needs; nothing was changed: %w", err)
	}
	g.run.Journal, g.run.Result.ApplyStarted = next, true
	return nil
}

// FoundNothing reports whether the plan is completely known and has no changes. A runner that
// adopts a process may lack the beginning of its output.
func FoundNothing(stream *plan.Stream) bool {
	return stream.PlanDone && stream.Planned.Zero() && !stream.HasChanges() && stream.AppliedTotal == 0
}

// beginning is set once the apply has begun to change something; nil if it does so from its start.
func (g *Supervisor) beginning() *atomic.Bool {
	if g.Direct {
		return &g.Begun
	}
	return nil
}

// hadBegun reports whether an adopted process has begun to change something.
func (g *Supervisor) hadBegun() bool {
	if g.run.Journal.States > 0 {
		return true
	}
	var stream plan.Stream
	out := &tail{path: g.run.Dir.Path(string(run.StepApply) + ".out"), limit: plan.MaxLine}
	defer out.close()
	out.lines(false, func(line []byte, _ bool) { stream.Feed(line) })
	return stream.Begun
}

// PlannedSoFar is the plan of a direct apply, as far as its output has it.
func PlannedSoFar(stream *plan.Stream) *run.PlanResult {
	p := &run.PlanResult{Changes: stream.HasChanges(), Counts: run.Counts(stream.Planned)}
	p.Fates, p.FatesTotal = HeardFates(stream)
	return p
}

// keepPlanned stores the plan of a direct apply. The tool does not wait for it.
func (g *Supervisor) keepPlanned(stream *plan.Stream) {
	if err := errors.Join(g.run.Dir.WriteJSON(spool.PlannedFile, PlannedSoFar(stream)), g.run.Dir.Sync(spool.PlannedFile, "")); err != nil {
		g.run.Opts.Log.Warn("cannot record the plan of an apply", "run", g.run.ID, "error", err)
	}
	g.run.Logs.Hurry()
}
