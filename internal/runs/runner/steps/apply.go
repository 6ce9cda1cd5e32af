// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/initstep"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
	"github.com/yuba-dev/yuba/internal/runs/runner/statekeeper"
	"github.com/yuba-dev/yuba/internal/runs/runner/supervisor"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// applyStep applies the plan, or plans and applies in one process.
type applyStep struct {
	run      *execution.Run
	site     *execution.Site
	keeper   *statekeeper.Keeper
	program  *supervisor.Supervisor
	locks    *supervisor.Locks
	init     *initstep.Step
	planning *planStep
	// nothingDone is true if a direct apply had nothing to do.
	nothingDone bool
}

// applyPlan applies the saved plan and ships every state.
func (s *applyStep) applyPlan(ctx context.Context) error {
	if s.run.Spec.Operation == run.OperationApply && !s.run.Spec.RefreshOnApply {
		if err := s.planning.fetchPlan(ctx); err != nil {
			return err
		}
	}
	c := supervisor.Command{Step: run.StepApply, States: s.run.Spec.Backend.Kind == run.BackendManaged, Reserve: supervisor.OutputReserve + 3*s.site.StateSize()}
	c.Args = append([]string{"apply", "-json", "-input=false", "-no-color"}, parallelism(&s.run.Spec)...)
	if s.site.Space.Own {
		c.Args = append(c.Args, lockArgs(&s.run.Spec, false)...)
	}
	if s.site.Space.Tool.ComparesVariables() {
		varFiles, err := s.site.CheckedVarFiles()
		if err != nil {
			return err
		}
		c.Args = append(c.Args, varFiles...)
	}
	c.Args = append(c.Args, s.site.Space.PlanFile(s.planning.held))
	if err := s.site.Space.ConfirmPlan(s.planning.held, s.planning.decided()); err != nil {
		return err
	}
	if err := s.program.BeginApply(); err != nil {
		return err
	}
	s.run.Log.Note("Apply")
	stream, e, err := s.program.Tofu(ctx, c)
	if err == nil {
		stream, e, err = s.locks.PastLeftLock(ctx, c, stream, e)
	}
	if err != nil {
		return err
	}
	if err := s.site.Space.UnchangedPlan(s.planning.held); err != nil {
		s.run.Warn("The applied plan may differ from the approved one: %v", err)
	}
	s.run.TakeWarnings(stream)
	return s.judgeApply(c, stream, e)
}

// fetchPlan fetches the approved plan and checks its digest.
func (s *planStep) fetchPlan(ctx context.Context) error {
	if s.run.Spec.Plan == nil {
		return fault.New("", "apply a saved plan: the run names none. This is a bug in Yuba")
	}
	name, err := s.run.Fetch(ctx, "plan", "plan", s.planLimit())
	if err != nil {
		return err
	}
	defer os.Remove(name)
	file, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("read plan %s: %w", s.run.Spec.Plan.ID, err)
	}
	defer file.Close()
	if s.held, err = s.site.Space.HoldPlan(file, workspace.GivenPlan, s.planLimit()); err != nil {
		return err
	}
	if s.held.Digest != s.run.Spec.Plan.Digest {
		return fault.New(run.FailureStalePlan, "apply plan %s: its digest is not the approved one (%s instead of %s)", s.run.Spec.Plan.ID, s.held.Digest, s.run.Spec.Plan.Digest)
	}
	return nil
}

// decided is the digest of the plan to apply: the one that the run names, else its own.
func (s *planStep) decided() string {
	if s.run.Spec.Plan != nil {
		return s.run.Spec.Plan.Digest
	}
	return s.run.Result.Plan.Digest
}

// judgeApply returns how an apply ended. An adopted process has no exit code: its summary counts.
func (s *applyStep) judgeApply(c supervisor.Command, stream *plan.Stream, e process.Exit) error {
	counts := run.Counts(stream.Done)
	if !stream.ApplyDone {
		counts = run.Counts(stream.Progress())
	}
	s.run.Result.AppliedCounts = &counts
	succeeded := e.Known && e.Code == 0 && e.Signal == 0
	if !e.Known {
		succeeded = stream.ApplyDone && len(stream.Errors()) == 0
	}
	s.run.Result.Applied = succeeded || len(stream.Errors()) > 0 && e.Signal == 0
	s.run.Result.Trace = s.trace(stream, s.program.Doubt)
	if size, limit := s.site.StateSize(), s.run.Spec.Limits.StateBytes; limit > 0 && size > limit {
		return fault.New(run.FailureLimit, "store the state: it has %d bytes, the limit is %d. The apply itself succeeded; split the stack, or raise the limit", size, limit)
	}
	if succeeded {
		s.run.Result.Trace = nil
		return nil
	}
	err := s.applyError(c, stream, e)
	var f *fault.Failure
	if len(s.keeper.RescuedState) > 0 && errors.As(err, &f) {
		f.Class = run.FailureState
		if s.noSpace() {
			f.Class = run.FailureDisk
		}
	}
	return err
}

func (s *applyStep) applyError(c supervisor.Command, stream *plan.Stream, e process.Exit) error {
	if e.Known || len(stream.Errors()) > 0 {
		if !e.Known {
			e.Code = 1
		}
		return s.program.Verdict(c, stream, e, 0)
	}
	return &fault.Failure{Outcome: run.OutcomeInterrupted, Class: run.FailureKilled,
		Err: fmt.Errorf("%s apply ended without reporting a result, as after a kill or a power failure", s.site.Space.Tool.Name)}
}

// noSpace reports whether the disk of the working directory is full.
func (s *applyStep) noSpace() bool {
	const name = workspace.PlanDir + "/space"
	file, err := s.site.Space.Root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fault.DiskFull(err)
	}
	defer s.site.Space.Root.Remove(name) //nolint:errcheck // it is empty, and goes with the directory
	defer file.Close()
	return fault.DiskFull(unix.Fallocate(int(file.Fd()), 0, 0, supervisor.OutputReserve))
}
