// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/supervisor"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// trace is the evidence in the log of a failed apply. doubt says why the log may lack lines.
func (s *applyStep) trace(stream *plan.Stream, doubt string) *run.Trace {
	t := &run.Trace{Orderly: s.program.Orderly[run.StepApply] && !s.stateLeft()}
	if stream.AppliedTotal > len(stream.Applied) {
		doubt = cmp.Or(doubt, "it lists more objects than the runner keeps")
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

// stateLeft reports whether the tool could not store its state in a custom backend.
func (s *applyStep) stateLeft() bool {
	if s.site.Space == nil || !s.site.Space.Own {
		return false
	}
	_, err := s.site.Space.Root.Lstat(s.site.Space.InModule(workspace.ErroredName))
	return !errors.Is(err, fs.ErrNotExist)
}

// maskedFates returns the fates of a described plan, masked.
func (s *planStep) maskedFates(described *plan.Described) []run.Fate {
	fates := make([]run.Fate, len(described.Fates))
	for i, f := range described.Fates {
		fates[i] = run.Fate{Address: s.run.Mask.Text(f.Address), Action: string(f.Action), Identity: s.run.Mask.Text(f.Identity)}
		if fates[i].Address != f.Address {
			fates[i].Match = plan.Match(f.Address)
		}
	}
	return fates
}

// lookTimeout limits lookAround after an interrupted apply.
const lookTimeout = 2 * time.Minute

// lookAround asks the tool what the server cannot know: resources in a state that only the tool can
// read, and after an interrupted apply, identifiers of planned objects. Failures leave them
// unknown.
func (s *applyStep) lookAround(ctx context.Context) {
	t := s.run.Result.Trace
	cut := s.run.Result.CutOff() && (t == nil || !t.Orderly || !t.Whole)
	wanted := s.run.Spec.ListState && (s.run.Result.Outcome == run.OutcomeSucceeded || s.run.Result.ApplyStarted)
	if !cut && !wanted || s.site.Space == nil || s.site.Space.Tool.Path == "" || s.run.Stop.Asked() != "" || ctx.Err() != nil {
		return
	}
	outcome := s.run.Result
	if s.run.Spec.ReadOutputs {
		s.listState(ctx)
	}
	if cut {
		s.identify(ctx)
	}
	outcome.Plan, outcome.StateListed, outcome.StateHas = s.run.Result.Plan, s.run.Result.StateListed, s.run.Result.StateHas
	s.run.Result = outcome
}

// identify reads identifiers from the plan, unless describing it already did. Programs can write to
// tofu's plan, so only the copy in custody counts; an adopted run has none.
func (s *applyStep) identify(ctx context.Context) {
	p := s.run.Result.Plan
	if p == nil || s.run.Spec.Describe || s.program.Direct || s.planning.held.Digest == "" || s.planning.held.Digest != p.Digest {
		return
	}
	shown, err := s.planning.showPlan(ctx, s.planning.held, lookTimeout)
	if err != nil {
		s.run.Opts.Log.Debug("a plan whose apply was cut off cannot be shown", "run", s.run.ID, "error", err)
		return
	}
	if described, err := plan.Describe(shown); err == nil {
		named := *p
		named.Fates, named.FatesTotal = s.planning.maskedFates(described), described.FatesTotal
		s.run.Result.Plan = &named
	}
}

// listState lists the resource instances of a state that the server cannot read.
func (s *applyStep) listState(ctx context.Context) {
	c := supervisor.Command{Step: run.StepShow, Args: []string{"show", "-json", "-no-color"}, Timeout: lookTimeout}
	text, err := s.program.Document(ctx, c, 2*s.run.StateLimit())
	var list []string
	if err == nil {
		list, err = shownAddresses(text)
	}
	if err != nil {
		s.run.Opts.Log.Debug("the resources of a state cannot be listed", "run", s.run.ID, "error", err)
		return
	}
	s.run.Result.StateListed, s.run.Result.StateHas = true, nil
	for _, address := range list {
		s.run.Result.StateHas = append(s.run.Result.StateHas, plan.Match(address))
	}
}
