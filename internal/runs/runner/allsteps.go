// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// allSteps are the steps that runs consist of.
type allSteps struct {
	preparing *prepareStep
	init      *initStep
	planning  *planStep
	applying  *applyStep
	changing  *stateStep
}

func newSteps(t *task, at *site, keeper *stateKeeper, program *supervisor, locks *lockKeeper, init *initStep, aside func(context.Context, func(context.Context) error) error) *allSteps {
	planning := &planStep{task: t, site: at, keeper: keeper, program: program, locks: locks, init: init, aside: aside}
	return &allSteps{
		preparing: &prepareStep{task: t, site: at, keeper: keeper, program: program},
		init:      init,
		planning:  planning,
		applying:  &applyStep{task: t, site: at, keeper: keeper, program: program, locks: locks, init: init, planning: planning},
		changing:  &stateStep{task: t, site: at, keeper: keeper, program: program, planning: planning},
	}
}

// steps are what the operation is made of.
func (a *allSteps) list(awaitPlace func(context.Context) error, shell []step) []step {
	spec := &a.planning.task.spec
	// The state comes after init, which would offer to move the state of a workspace other than default that it finds
	// into the backend that it configures.
	list := []step{{run.StepPrepare, a.preparing.prepare}, {stepPlace, awaitPlace}, {run.StepInit, a.init.init}, {run.StepPrepare, a.init.placeState}}
	if spec.ForceUnlock != "" {
		list = append(list, step{run.StepInit, a.planning.locks.forceUnlock})
	}
	switch {
	case spec.Operation == run.OperationState:
		return append(list, a.changing.stateSteps()...)
	case spec.Operation == run.OperationShell:
		return append(list, shell...)
	case spec.Operation != run.OperationApply:
		list = append(list, step{stepContinue, a.applying.beginDirect}, step{run.StepApply, a.applying.applyDirect}, step{run.StepPlan, a.planning.plan})
		if spec.Describe {
			list = append(list, step{run.StepShow, a.planning.show})
		}
		if spec.Review {
			list = append(list, step{stepContinue, a.planning.review})
		}
	case spec.RefreshOnApply:
		list = append(list, step{run.StepPlan, a.planning.compareWithWorld})
	}
	if spec.Operation != run.OperationPlan {
		list = append(list, step{stepContinue, a.planning.mayApply}, step{run.StepApply, a.applying.applyPlan})
		list = append(list, a.afterApply()...)
	}
	return list
}

func (a *allSteps) afterApply() []step {
	spec := &a.planning.task.spec
	if spec.ReadOutputs || spec.ReadResources {
		return []step{{run.StepOutput, a.planning.readBack}}
	}
	return nil
}

// mayApply asks the server whether an apply may begin.
func (a *allSteps) mayApply(ctx context.Context) error { return a.planning.mayApply(ctx) }

// lookAround asks the tool what the server cannot know after the steps have ended.
func (a *allSteps) lookAround(ctx context.Context) { a.applying.lookAround(ctx) }

// nothingDone reports whether a run that plans and applies in one process had nothing to do.
func (a *allSteps) nothingDone() bool { return a.applying.nothingDone }

// judgeLeft says how an apply ended that an earlier runner started.
func (a *allSteps) judgeLeft(stream *plan.Stream, e process.Exit) error {
	c := command{step: run.StepApply}
	switch {
	case a.applying.program.direct:
		return a.applying.judgeDirect(c, stream, e)
	case a.planning.task.spec.Operation == run.OperationState:
		return a.changing.judgeChange(c, stream, e)
	}
	return a.applying.judgeApply(c, stream, e)
}
