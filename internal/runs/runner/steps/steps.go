// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"context"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/identity"
	"github.com/yuba-dev/yuba/internal/runs/runner/initstep"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
	"github.com/yuba-dev/yuba/internal/runs/runner/statekeeper"
	"github.com/yuba-dev/yuba/internal/runs/runner/supervisor"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// Steps has the steps of all runs.
type Steps struct {
	preparing *prepareStep
	init      *initstep.Step
	planning  *planStep
	applying  *applyStep
	changing  *stateStep
}

// New joins the steps of a run. aside runs a function while the run gives up its place.
func New(t *execution.Run, at *execution.Site, keeper *statekeeper.Keeper, program *supervisor.Supervisor, locks *supervisor.Locks, init *initstep.Step, tokens *identity.Tokens, aside func(context.Context, func(context.Context) error) error) *Steps {
	planning := &planStep{run: t, site: at, keeper: keeper, program: program, locks: locks, init: init, aside: aside}
	return &Steps{
		preparing: &prepareStep{run: t, site: at, keeper: keeper, program: program, tokens: tokens},
		init:      init,
		planning:  planning,
		applying:  &applyStep{run: t, site: at, keeper: keeper, program: program, locks: locks, init: init, planning: planning},
		changing:  &stateStep{run: t, site: at, keeper: keeper, program: program, planning: planning, init: init},
	}
}

// List returns the steps of the run's operation in order. shell are those of a shell.
func (a *Steps) List(awaitPlace func(context.Context) error, shell []execution.Step) (list []execution.Step) {
	add := func(name run.Step, do func(context.Context) error) {
		list = append(list, execution.Step{Name: name, Do: do})
	}
	spec := &a.planning.run.Spec
	add(run.StepPrepare, a.preparing.prepare)
	add(execution.StepPlace, awaitPlace)
	// The state comes last: init would offer to migrate another workspace's state to the backend.
	add(run.StepInit, a.init.Init)
	add(run.StepPrepare, a.init.PlaceState)
	if spec.ReviewInit {
		add(execution.StepContinue, a.planning.reviewInit)
	}
	if spec.ForceUnlock != "" {
		add(run.StepInit, a.planning.locks.ForceUnlock)
	}
	switch {
	case spec.Operation == run.OperationState:
		return append(list, a.changing.stateSteps()...)
	case spec.Operation == run.OperationShell:
		return append(list, shell...)
	case spec.Operation != run.OperationApply:
		add(execution.StepContinue, a.applying.beginDirect)
		add(run.StepApply, a.applying.applyDirect)
		add(run.StepPlan, a.planning.plan)
		if spec.Describe {
			add(run.StepShow, a.planning.show)
		}
		if spec.Review {
			add(execution.StepContinue, a.planning.review)
		}
	case spec.RefreshOnApply:
		add(run.StepPlan, a.planning.compareWithWorld)
	}
	if spec.Operation != run.OperationPlan {
		add(execution.StepContinue, a.planning.mayApply)
		add(run.StepApply, a.applying.applyPlan)
		list = append(list, a.AfterApply()...)
	}
	return list
}

// AfterApply returns the steps that read results back once an apply has ended.
func (a *Steps) AfterApply() []execution.Step {
	spec := &a.planning.run.Spec
	if spec.ReadOutputs || spec.ReadResources {
		return []execution.Step{{Name: run.StepOutput, Do: a.planning.readBack}}
	}
	return nil
}

// MayApply asks the server whether an apply may begin.
func (a *Steps) MayApply(ctx context.Context) error { return a.planning.mayApply(ctx) }

// LookAround asks the tool, after the last step, for facts that the server cannot know.
func (a *Steps) LookAround(ctx context.Context) { a.applying.lookAround(ctx) }

// NothingDone reports whether a direct apply had nothing to do.
func (a *Steps) NothingDone() bool { return a.applying.nothingDone }

// JudgeLeft returns how an apply of an earlier runner ended.
func (a *Steps) JudgeLeft(stream *plan.Stream, e process.Exit) error {
	c := supervisor.Command{Step: run.StepApply}
	switch {
	case a.applying.program.Direct:
		return a.applying.judgeDirect(c, stream, e)
	case a.planning.run.Spec.Operation == run.OperationState:
		return a.changing.judgeChange(c, stream, e)
	}
	return a.applying.judgeApply(c, stream, e)
}
