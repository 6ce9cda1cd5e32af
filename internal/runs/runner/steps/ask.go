// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/link"
)

// checkFree fails if too little disk space is free: such an apply may lose its state.
func (s *planStep) checkFree() error {
	for _, dir := range []string{s.run.Opts.WorkRoot, s.run.Opts.Dir} {
		var stat unix.Statfs_t
		if err := unix.Statfs(dir, &stat); err != nil {
			return fault.New("", "read the free space of %s: %w", dir, err)
		}
		if free := int64(stat.Bavail) * stat.Bsize; free < s.run.Opts.MinFree {
			return fault.New(run.FailureDisk, "apply %s: only %d MiB are free in %s, and an apply that cannot store its state loses it (at least %d MiB are required). Nothing was changed. Free some space; Yuba retries automatically",
				s.run.Spec.Stack, free>>20, dir, s.run.Opts.MinFree>>20)
		}
	}
	return nil
}

// review asks the server to review a plan with changes.
func (s *planStep) review(ctx context.Context) error {
	if !s.run.Result.Plan.Changes {
		return nil
	}
	reviewed := func(ctx context.Context) error { return s.ask(ctx, run.StepPlan, "review the plan") }
	if err := s.aside(ctx, reviewed); err != nil {
		return err
	}
	if s.run.Spec.Operation == run.OperationPlan {
		return s.shipPlan(ctx)
	}
	return nil
}

// reviewInit asks the server about what init has put in place. Nothing of it was executed so far.
func (s *planStep) reviewInit(ctx context.Context) error {
	installed, err := s.init.Installed()
	if err != nil {
		return err
	}
	s.installed = installed
	defer func() { s.installed = nil }()
	return s.ask(ctx, run.StepInit, "review the configuration")
}

// mayApply asks the server, which locks the state. The run waits while the server is unreachable.
func (s *planStep) mayApply(ctx context.Context) error {
	if err := s.checkFree(); err != nil {
		return err
	}
	return s.ask(ctx, run.StepApply, "ask whether to apply")
}

// ask waits for the server's answer whether a step may begin.
func (s *planStep) ask(ctx context.Context, about run.Step, attempt string) error {
	var answer run.ContinueResponse
	waiting, cancel := s.run.Stop.Until(ctx)
	defer cancel()
	_, err := s.run.Persist(waiting, link.Request{Method: http.MethodPost, Path: "/continue", Into: &answer,
		Body: execution.Encode(run.ContinueRequest{Step: about, Plan: s.run.Result.Plan, Installed: s.installed, State: s.keeper.GivenState})})
	var r *link.Refusal
	switch {
	case errors.As(err, &r):
		return &fault.Failure{Step: about, Class: r.Problem.Class, Outcome: run.OutcomeCanceled, Err: fmt.Errorf("%s: %w", attempt, err)}
	case err != nil && ctx.Err() == nil:
		return &fault.Failure{Step: about, Outcome: run.OutcomeCanceled, Err: errors.New("stopped before the apply: " + s.run.Stop.Asked())}
	case err != nil:
		return &fault.Failure{Step: about, Outcome: run.OutcomeInterrupted, Err: fmt.Errorf("%s: %w", attempt, err)}
	case answer.Go:
		return nil
	}
	outcome := answer.Outcome
	if outcome == "" {
		outcome = run.OutcomeCanceled
	}
	if outcome == run.OutcomeSucceeded {
		s.run.Log.Note("Not applied: %s", answer.Reason)
		return execution.ErrFinished
	}
	return &fault.Failure{Step: about, Outcome: outcome, Class: answer.Class, Err: errors.New(cmp.Or(answer.Reason, "the server refused to continue"))}
}
