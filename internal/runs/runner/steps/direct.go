// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
	"github.com/yuba-dev/yuba/internal/runs/runner/supervisor"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// A first apply without review needs only one process: without a state, a plan can only create or
// import. The server permits it before it starts. Failures before the first resource fail the plan.

// mayBeDirect reports whether the spec permits a direct apply, if there is no state.
func (s *applyStep) mayBeDirect() bool {
	spec := &s.run.Spec
	return spec.Direct && !s.run.OwnArguments() && spec.Operation == run.OperationPlanAndApply && spec.Purpose == run.PurposeDeploy && !spec.Destroy &&
		spec.Backend.Kind == run.BackendManaged && !spec.Review && !spec.Describe && !spec.RefreshOnApply && !spec.ReadOutputs && !spec.ReadResources
}

// beginDirect asks whether to apply, if the run plans and applies in one process.
func (s *applyStep) beginDirect(ctx context.Context) error {
	// tofu writes each state only if an empty one is in place; with encryption there is none.
	if !s.mayBeDirect() || s.keeper.StateFetched != http.StatusNoContent || s.run.Journal.Initial == "" {
		return execution.ErrNotThisStep
	}
	if err := s.planning.mayApply(ctx); err != nil {
		return err
	}
	s.program.Direct = true
	return nil
}

// applyDirect plans and applies with one process, which ends the run.
func (s *applyStep) applyDirect(ctx context.Context) error {
	if !s.program.Direct {
		return execution.ErrNotThisStep
	}
	varFiles, err := s.site.CheckedVarFiles()
	if err != nil {
		return err
	}
	c := supervisor.Command{Step: run.StepApply, States: true, Reserve: supervisor.OutputReserve + 3*s.site.StateSize()}
	c.Args = []string{"apply", "-auto-approve", "-json", "-input=false", "-no-color"}
	for _, target := range s.run.Spec.Targets {
		c.Args = append(c.Args, "-target="+target)
	}
	c.Args = slices.Concat(c.Args, parallelism(&s.run.Spec), varFiles)
	if err := s.program.BeginApply(); err != nil {
		return err
	}
	s.run.Log.Note("Planning and applying in one process: the stack has no state yet")
	stream, e, err := s.program.Tofu(ctx, c)
	if err == nil && s.beganNothing(stream) && s.init.BlamesInit(stream, e) {
		if err := s.init.InitAfterAll(ctx); err != nil {
			s.takeBackApply()
			return err
		}
		stream, e, err = s.program.Tofu(ctx, c)
	}
	if err != nil {
		return err
	}
	s.run.TakeWarnings(stream)
	if err := s.judgeDirect(c, stream, e); err != nil {
		return err
	}
	if err := s.init.ProveInit(e); err != nil {
		s.run.Warn("%v", err)
	}
	return execution.ErrFinished
}

// beganNothing reports whether the process began no change and wrote no state.
func (s *applyStep) beganNothing(stream *plan.Stream) bool {
	s.run.Lock()
	defer s.run.Unlock()
	return !stream.Begun && !stream.ApplyDone && s.run.Journal.States == 0 && len(s.keeper.RescuedState) == 0
}

// judgeDirect returns how a plan and apply in one process ended.
func (s *applyStep) judgeDirect(c supervisor.Command, stream *plan.Stream, e process.Exit) error {
	if stream.PlanDone {
		s.planning.setPlan(supervisor.PlannedSoFar(stream))
	}
	explained := len(stream.Errors()) > 0
	switch {
	case stream.ApplyDone && supervisor.FoundNothing(stream) && !explained && (e.Code == 0 || !e.Known):
		s.takeBackApply()
		return nil
	case s.beganNothing(stream) && (explained && e.Signal == 0 || e.Known && (!stream.PlanDone || e.Interrupted != "")):
		s.takeBackApply()
		if !e.Known {
			e.Code, e.Known = 1, true
		}
		err := s.program.Verdict(supervisor.Command{Step: run.StepPlan}, stream, e)
		var f *fault.Failure
		if errors.As(err, &f) {
			f.Step = run.StepPlan
		}
		return err
	}
	return s.judgeApply(c, stream, e)
}

// takeBackApply withdraws an apply that changed nothing.
func (s *applyStep) takeBackApply() {
	s.run.Lock()
	defer s.run.Unlock()
	s.run.Journal.ApplyStarted, s.run.Result.ApplyStarted = false, false
	s.nothingDone = true
	s.run.SaveJournal()
}
