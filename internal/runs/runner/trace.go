// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// trace is what the log of an apply tells that did not come to a good end. doubt says why the log may lack lines.
func (s *applyStep) trace(stream *plan.Stream, doubt string) *run.Trace {
	t := &run.Trace{Orderly: s.program.orderly[run.StepApply] && !s.stateLeft()}
	if stream.AppliedTotal > len(stream.Applied) {
		doubt = cmp.Or(doubt, "it tells of more objects than are kept")
	}
	t.Whole, t.Why = doubt == "", doubt
	for _, a := range stream.Applied {
		ended := run.TraceDone
		if a.Failed {
			ended = run.TraceFailed
		}
		if a.Action.OneStep() {
			t.Steps = append(t.Steps, run.TraceStep{Address: a.Address, Match: a.Match, Action: string(a.Action), Ended: ended, ID: a.ID})
		}
	}
	for _, f := range stream.InFlight() {
		if f.Action.OneStep() {
			t.Steps = append(t.Steps, run.TraceStep{Address: f.Address, Match: f.Match, Action: string(f.Action), ID: f.ID})
		}
	}
	return t
}

// stateLeft reports whether the tool could not store its state in a backend of the stack's own.
func (s *applyStep) stateLeft() bool {
	if s.site.space == nil || !s.site.space.Own {
		return false
	}
	_, err := s.site.space.Root.Lstat(s.site.space.InModule(workspace.ErroredName))
	return !errors.Is(err, fs.ErrNotExist)
}

// maskedFates are the fates of a plan that the tool described, fit to leave the runner.
func (s *planStep) maskedFates(described *plan.Described) []run.Fate {
	fates := make([]run.Fate, len(described.Fates))
	for i, f := range described.Fates {
		fates[i] = run.Fate{Address: s.task.mask.Text(f.Address), Action: string(f.Action), Identity: s.task.mask.Text(f.Identity)}
		if fates[i].Address != f.Address {
			fates[i].Match = plan.Match(f.Address)
		}
	}
	return fates
}

// heardFates are those that the stream of a plan tells of, which is masked.
func heardFates(stream *plan.Stream) ([]run.Fate, int) {
	heard, total := stream.Fates()
	fates := make([]run.Fate, len(heard))
	for i, f := range heard {
		fates[i] = run.Fate{Address: f.Address, Match: f.Match, Action: string(f.Action)}
	}
	return fates, total
}

// matched has an event say what its address is known by, if that was masked in the line.
func matched(event plan.Event, masked, raw []byte) plan.Event {
	if event.Resource == "" || bytes.Equal(masked, raw) {
		return event
	}
	if address := plan.ParseEvent(raw).Resource; address != event.Resource {
		event.Match = plan.Match(address)
	}
	return event
}

// lookTimeout is how long a look may take at what an apply that was cut off has left.
const lookTimeout = 2 * time.Minute

// lookAround asks the tool what the server cannot know: what a state has that only the tool can read, when that is wanted
// as proof, and after an apply that was cut off also how the world calls what was to be made. Whatever it cannot find out
// is not known.
func (s *applyStep) lookAround(ctx context.Context) {
	t := s.task.result.Trace
	cut := s.task.result.CutOff() && (t == nil || !t.Orderly || !t.Whole)
	wanted := s.task.spec.ListState && (s.task.result.Outcome == run.OutcomeSucceeded || s.task.result.ApplyStarted)
	if !cut && !wanted || s.site.space == nil || s.site.space.Tool.Path == "" || s.task.stop.asked() != "" || ctx.Err() != nil {
		return
	}
	outcome := s.task.result
	if s.task.spec.ReadOutputs {
		s.listState(ctx)
	}
	if cut {
		s.identify(ctx)
	}
	outcome.Plan, outcome.StateListed, outcome.StateHas = s.task.result.Plan, s.task.result.StateListed, s.task.result.StateHas
	s.task.result = outcome
}

// identify reads the plan once more for what it says of the objects. One that was described has said it. The program can
// write to the plan that tofu wrote, so only the copy in custody counts; a job that was taken over has none.
func (s *applyStep) identify(ctx context.Context) {
	p := s.task.result.Plan
	if p == nil || s.task.spec.Describe || s.program.direct || s.planning.held.Digest == "" || s.planning.held.Digest != p.Digest {
		return
	}
	shown, err := s.planning.showPlan(ctx, s.planning.held, lookTimeout)
	if err != nil {
		s.task.opts.Log.Debug("a plan whose apply was cut off cannot be shown", "run", s.task.id, "error", err)
		return
	}
	if described, err := plan.Describe(shown); err == nil {
		named := *p
		named.Fates, named.FatesTotal = s.planning.maskedFates(described), described.FatesTotal
		s.task.result.Plan = &named
	}
}

// listState asks the tool which resource instances a state has that the server cannot read.
func (s *applyStep) listState(ctx context.Context) {
	c := command{step: run.StepShow, args: []string{"show", "-json", "-no-color"}, timeout: lookTimeout}
	text, err := s.program.document(ctx, c, 2*s.task.stateLimit())
	var list []string
	if err == nil {
		list, err = shownAddresses(text)
	}
	if err != nil {
		s.task.opts.Log.Debug("the resources of a state cannot be listed", "run", s.task.id, "error", err)
		return
	}
	s.task.result.StateListed, s.task.result.StateHas = true, nil
	for _, address := range list {
		s.task.result.StateHas = append(s.task.result.StateHas, plan.Match(address))
	}
}
