// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// A first apply that nobody looks at before need not be two processes: where nothing exists, a plan can only create, or
// take over what the program says it should, and what comes of it is what the program says. So plan and apply are one call of the tool. The server is asked before it
// begins, not in its middle; whatever goes wrong before the first resource is a plan that failed, as if it had been one.

// mayBeDirect tells whether the spec allows for it. Whether there is really no state is seen when it was asked for.
func (s *applyStep) mayBeDirect() bool {
	spec := &s.task.spec
	return spec.Direct && !s.task.ownArguments() && spec.Operation == run.OperationPlanAndApply && spec.Purpose == run.PurposeDeploy && !spec.Destroy &&
		spec.Backend.Kind == run.BackendManaged && !spec.Review && !spec.Describe && !spec.RefreshOnApply && !spec.ReadOutputs && !spec.ReadResources
}

// ownArguments tells whether the stack's environment gives the tool's commands arguments of their own, a plan perhaps
// others than an apply.
func (t *task) ownArguments() bool {
	return slices.ContainsFunc(t.spec.Env, func(e run.EnvVar) bool { return strings.HasPrefix(e.Name, "TF_CLI_ARGS") })
}

// beginDirect asks whether to apply, when the run is one that plans and applies in one go.
func (s *applyStep) beginDirect(ctx context.Context) error {
	// With an empty state in place tofu writes each state as it grows; without one, as with encryption, it may not.
	if !s.mayBeDirect() || s.keeper.stateFetched != http.StatusNoContent || s.task.Journal.Initial == "" {
		return errNotThisStep
	}
	if err := s.planning.mayApply(ctx); err != nil {
		return err
	}
	s.program.direct = true
	return nil
}

// applyDirect plans and applies with one process. It is the end of the run.
func (s *applyStep) applyDirect(ctx context.Context) error {
	if !s.program.direct {
		return errNotThisStep
	}
	varFiles, err := s.site.checkedVarFiles()
	if err != nil {
		return err
	}
	c := command{step: run.StepApply, states: true, reserve: outputReserve + 3*s.site.stateSize()}
	c.args = []string{"apply", "-auto-approve", "-json", "-input=false", "-no-color"}
	for _, target := range s.task.spec.Targets {
		c.args = append(c.args, "-target="+target)
	}
	c.args = slices.Concat(c.args, parallelism(&s.task.spec), varFiles)
	if err := s.program.beginApply(); err != nil {
		return err
	}
	s.task.log.Note("Plan and apply in one go: nothing exists yet")
	stream, e, err := s.program.tofu(ctx, c)
	if err == nil && s.beganNothing(stream) && s.init.blamesInit(stream, e) {
		if err := s.init.initAfterAll(ctx); err != nil {
			s.takeBackApply()
			return err
		}
		stream, e, err = s.program.tofu(ctx, c)
	}
	if err != nil {
		return err
	}
	s.task.takeWarnings(stream)
	if err := s.judgeDirect(c, stream, e); err != nil {
		return err
	}
	if err := s.init.proveInit(e); err != nil { // what was applied was applied: init runs once more than it had to
		s.task.warn("%v", err)
	}
	return errFinished
}

// beganNothing tells whether the process, as far as it says, has not touched anything, and has written no state.
func (s *applyStep) beganNothing(stream *plan.Stream) bool {
	s.task.Lock()
	defer s.task.Unlock()
	return !stream.Begun && !stream.ApplyDone && s.task.Journal.States == 0 && len(s.keeper.rescuedState) == 0
}

// foundNothing tells whether the plan, of which all was heard, has nothing to do. Who takes over a process that said a lot
// may have missed its beginning.
func foundNothing(stream *plan.Stream) bool {
	return stream.PlanDone && stream.Planned.Zero() && !stream.HasChanges() && stream.AppliedTotal == 0
}

// judgeDirect says how a plan and apply in one go ended. The end of an adopted process is unknown; then its own words
// count.
func (s *applyStep) judgeDirect(c command, stream *plan.Stream, e process.Exit) error {
	if stream.PlanDone {
		s.planning.setPlan(plannedSoFar(stream))
	}
	explained := len(stream.Errors()) > 0
	switch {
	case stream.ApplyDone && foundNothing(stream) && !explained && (e.Code == 0 || !e.Known):
		s.takeBackApply()
		return nil
	case s.beganNothing(stream) && (explained && e.Signal == 0 || e.Known && (!stream.PlanDone || e.Interrupted != "")):
		s.takeBackApply()
		if !e.Known {
			e.Code, e.Known = 1, true
		}
		err := s.program.verdict(command{step: run.StepPlan}, stream, e)
		var f *fault.Failure
		if errors.As(err, &f) {
			f.Step = run.StepPlan
		}
		return err
	}
	return s.judgeApply(c, stream, e)
}

// beginning says of the run's apply whether it has begun to change anything; nil for one that has, as soon as it runs.
func (g *supervisor) beginning() *atomic.Bool {
	if g.direct {
		return &g.begun
	}
	return nil
}

// hadBegun says of a process that a runner before has started whether it has begun to change anything by now.
func (g *supervisor) hadBegun() bool {
	if g.task.Journal.States > 0 {
		return true
	}
	var stream plan.Stream
	out := &tail{path: g.task.Dir.Path(string(run.StepApply) + ".out"), limit: plan.MaxLine}
	defer out.close()
	out.lines(false, func(line []byte, _ bool) { stream.Feed(line) })
	return stream.Begun
}

// whoseWish is the class of a failure that comes of a wish to stop.
func (g *supervisor) whoseWish() run.Failure {
	if g.task.stop.byPerson() {
		return run.FailureCanceled
	}
	return ""
}

// plannedSoFar is what the stream of an apply that plans says of its plan.
func plannedSoFar(stream *plan.Stream) *run.PlanResult {
	p := &run.PlanResult{Changes: stream.HasChanges(), Counts: run.Counts(stream.Planned)}
	p.Fates, p.FatesTotal = heardFates(stream)
	return p
}

// keepPlanned makes what an apply that plans is about to do known beyond this process, as soon as it says so. The tool does
// not wait for that: what it did before is to be guessed from the program, if all else is lost.
func (g *supervisor) keepPlanned(stream *plan.Stream) {
	if err := errors.Join(g.task.Dir.WriteJSON(spool.PlannedFile, plannedSoFar(stream)), g.task.Dir.Sync(spool.PlannedFile, "")); err != nil {
		g.task.opts.Log.Warn("what an apply is to do could not be written down", "run", g.task.id, "error", err)
	}
	g.task.logs.Hurry()
}

// takeBackApply is for an apply that is over and did nothing.
func (s *applyStep) takeBackApply() {
	s.task.Lock()
	defer s.task.Unlock()
	s.task.Journal.ApplyStarted, s.task.result.ApplyStarted = false, false
	s.nothingDone = true
	s.task.SaveJournal()
}
