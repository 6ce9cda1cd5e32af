// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"errors"
	"os"
	"sync/atomic"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// OutputReserve is set aside on disk for the apply's output, beside thrice the state: an encoded state must fit.
const OutputReserve = 4 << 20

// BeginApply writes down for certain that an apply begins: not even a power cut may make the next runner take the state
// in the working directory for an old one, or the output that it does not find for a tool that never ran.
func (g *Supervisor) BeginApply() error {
	g.run.Lock()
	defer g.run.Unlock()
	next := g.run.Journal
	next.ApplyStarted, next.Direct, next.Steps = true, g.Direct, g.run.Result.Steps
	next.Process = &process.Record{Step: run.StepApply, LogStart: g.run.Log.Length(), Boot: process.BootID(), Mount: process.MountID(g.run.Dir.Root), Secured: OutputReserve}
	err := errors.Join(g.run.Dir.WriteJSON(spool.ApplyFile, spool.ApplyRecord{Journal: next, Spec: &g.run.Spec, Token: g.run.Token}), g.run.Dir.WriteJSON(spool.JournalFile, next))
	for _, end := range []string{spool.OutEnd, spool.ErrEnd} {
		err = errors.Join(err, os.WriteFile(g.run.Dir.Path(string(run.StepApply)+end), nil, 0o600))
	}
	if err == nil {
		err = g.run.Dir.Sync(spool.SpecFile, spool.TokenFile, spool.ApplyFile, spool.JournalFile, "", "..")
	}
	if err != nil {
		return fault.New(run.FailureDisk, "begin the apply: what is needed to recover its state could not be written down; nothing was changed: %w", err)
	}
	g.run.Journal, g.run.Result.ApplyStarted = next, true
	return nil
}

// FoundNothing tells whether the plan, of which all was heard, has nothing to do. Who takes over a process that said a lot
// may have missed its beginning.
func FoundNothing(stream *plan.Stream) bool {
	return stream.PlanDone && stream.Planned.Zero() && !stream.HasChanges() && stream.AppliedTotal == 0
}

// beginning says of the run's apply whether it has begun to change anything; nil for one that has, as soon as it runs.
func (g *Supervisor) beginning() *atomic.Bool {
	if g.Direct {
		return &g.Begun
	}
	return nil
}

// hadBegun says of a process that a runner before has started whether it has begun to change anything by now.
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

// PlannedSoFar is what the stream of an apply that plans says of its plan.
func PlannedSoFar(stream *plan.Stream) *run.PlanResult {
	p := &run.PlanResult{Changes: stream.HasChanges(), Counts: run.Counts(stream.Planned)}
	p.Fates, p.FatesTotal = HeardFates(stream)
	return p
}

// keepPlanned makes what an apply that plans is about to do known beyond this process, as soon as it says so. The tool does
// not wait for that: what it did before is to be guessed from the program, if all else is lost.
func (g *Supervisor) keepPlanned(stream *plan.Stream) {
	if err := errors.Join(g.run.Dir.WriteJSON(spool.PlannedFile, PlannedSoFar(stream)), g.run.Dir.Sync(spool.PlannedFile, "")); err != nil {
		g.run.Opts.Log.Warn("what an apply is to do could not be written down", "run", g.run.ID, "error", err)
	}
	g.run.Logs.Hurry()
}
