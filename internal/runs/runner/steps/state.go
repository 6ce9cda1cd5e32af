// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

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

// stateStep changes only the state.
type stateStep struct {
	run      *execution.Run
	site     *execution.Site
	keeper   *statekeeper.Keeper
	program  *supervisor.Supervisor
	planning *planStep
	init     *initstep.Step
}

// pushedName is the state to push to a custom backend, backupName the backup that tofu always
// writes. Both go with their directories.
const (
	pushedName = workspace.GivenDir + "/pushed.tfstate"
	backupName = workspace.PlanDir + "/before.tfstate"
)

// stateSteps returns the steps of a run that changes only the state.
func (s *stateStep) stateSteps() []execution.Step {
	if change := s.run.Spec.StateChange; change != nil {
		switch {
		case change.Verb == run.StateMigrate:
			return s.migrateSteps()
		case change.Verb == run.StateUnlock:
			return []execution.Step{{Name: run.StepInit, Do: s.unlock}}
		case change.Verb.Reads() && !change.Verb.Inspects():
			return []execution.Step{{Name: run.StepShow, Do: s.read}}
		}
	}
	if change := s.run.Spec.StateChange; change != nil && change.Preview {
		preview := s.previewChange
		switch change.Verb {
		case run.StateConsole, run.StateGraph:
			preview = s.inspect
		case run.StateProvidersLock:
			preview = s.lockProviders
		case run.StateRefresh, run.StateRollback:
			preview = s.planChange
		}
		return []execution.Step{{Name: run.StepPlan, Do: preview}}
	}
	return []execution.Step{{Name: execution.StepContinue, Do: s.planning.mayApply}, {Name: run.StepApply, Do: s.changeState}}
}

// changeCommand is the tool's command for the change.
func (s *stateStep) changeCommand(step run.Step) (supervisor.Command, error) {
	change := s.run.Spec.StateChange
	if change == nil {
		return supervisor.Command{}, fault.New("", "change the state: the run does not say how. This is a bug in Yuba")
	}
	if err := change.Check(); err != nil {
		return supervisor.Command{}, fault.New(run.FailureConfiguration, "change the state: %w", err)
	}
	managed := s.run.Spec.Backend.Kind == run.BackendManaged
	c := supervisor.Command{Step: step, Title: "state " + string(change.Verb)}
	switch change.Verb {
	case run.StateMove, run.StateRemove:
		c.Args = []string{"state", string(change.Verb), "-no-color"}
		if managed {
			c.Args = append(c.Args, "-lock=false", "-backup="+filepath.Join(s.site.Space.Base, backupName))
		}
		if change.Preview {
			c.Args = append(c.Args, "-dry-run")
		}
	case run.StateTaint, run.StateUntaint, run.StateReplaceProvider:
		if c.Title, c.Args = string(change.Verb), []string{string(change.Verb), "-no-color"}; change.Verb == run.StateReplaceProvider {
			c.Title, c.Args = "state "+c.Title, []string{"state", string(change.Verb), "-no-color", "-auto-approve"}
		}
		if managed {
			c.Args = append(c.Args, "-lock=false", "-backup="+filepath.Join(s.site.Space.Base, backupName))
		}
	case run.StateRefresh:
		return s.refreshCommand(c)
	case run.StateImport:
		c.Title = "import"
		c.Args = []string{"import", "-input=false", "-no-color"}
		if managed {
			c.Args = append(c.Args, "-lock=false")
		}
		varFiles, err := s.site.CheckedVarFiles()
		if err != nil {
			return c, err
		}
		c.Args = append(c.Args, varFiles...)
	case run.StatePush:
		if err := s.site.Space.Write(pushedName, change.State); err != nil {
			return c, err
		}
		c.Args = []string{"state", "push", "-no-color"}
		if change.Force {
			c.Args = append(c.Args, "-force")
		}
		c.Args = append(c.Args, filepath.Join(s.site.Space.Base, pushedName))
	default:
		return c, fault.New(run.FailureConfiguration, "change the state: tofu has no command for %q. This is a bug in Yuba", change.Verb)
	}
	c.Args = append(c.Args, change.Args...)
	if !managed { // flags must precede arguments
		first := slices.IndexFunc(c.Args, func(a string) bool { return strings.HasPrefix(a, "-") })
		c.Args = slices.Insert(c.Args, first, lockArgs(&s.run.Spec, false)...)
	}
	return c, nil
}

// changeState runs the command and ships every state that it writes.
func (s *stateStep) changeState(ctx context.Context) error {
	c, err := s.changeCommand(run.StepApply)
	if err != nil {
		return err
	}
	c.States = s.run.Spec.Backend.Kind == run.BackendManaged
	c.Reserve = supervisor.OutputReserve + 3*s.site.StateSize()
	if err := s.program.BeginApply(); err != nil {
		return err
	}
	s.run.Log.Note("%s %s", s.site.Space.Tool.Name, c.Title)
	stream, e, err := s.program.Tofu(ctx, c)
	if err != nil {
		return err
	}
	return s.judgeChange(c, stream, e)
}

// judgeChange returns how a change ended. Without an exit code, only the states it wrote count.
func (s *stateStep) judgeChange(c supervisor.Command, stream *plan.Stream, e process.Exit) error {
	s.run.Result.Text = s.program.Said(stream)
	if size, limit := s.site.StateSize(), s.run.Spec.Limits.StateBytes; limit > 0 && size > limit {
		return fault.New(run.FailureLimit, "store the state: it has %d bytes, the limit is %d", size, limit)
	}
	if !e.Known && s.run.Spec.StateChange.Migration != nil {
		return &fault.Failure{Outcome: run.OutcomeInterrupted, Class: run.FailureKilled, Err: errors.New(
			"the runner died in the middle of it. Nothing is lost: the state is still at its former backend, and the stack waits. Continue with `yuba state migrate`")}
	}
	if !e.Known {
		return &fault.Failure{Outcome: run.OutcomeInterrupted, Class: run.FailureKilled, Err: errors.New(
			"the runner died in the middle of it, so that its end is not known. What it wrote by then is the state: see `yuba state history` and `yuba state list`")}
	}
	return s.program.Verdict(c, stream, e, 0)
}

// previewChange tries a change on the local copy of the state. A custom backend has none.
func (s *stateStep) previewChange(ctx context.Context) error {
	change := s.run.Spec.StateChange
	managed := s.run.Spec.Backend.Kind == run.BackendManaged
	if would := wouldDo(change); would != "" && !managed {
		s.run.Result.Text = s.run.Mask.Text(would + ". A custom backend does not allow a preview.")
		return nil
	}
	c, err := s.changeCommand(run.StepPlan)
	if err != nil {
		return err
	}
	before, _ := statekeeper.Addresses(s.keeper.LastState())
	stream, e, err := s.program.Tofu(ctx, c)
	if err != nil {
		return err
	}
	s.run.Result.Text = s.program.Said(stream)
	if err := s.program.Verdict(c, stream, e, 0); err != nil {
		return err
	}
	switch change.Verb {
	case run.StateImport:
		s.run.Result.Text = s.run.Mask.Text(imported(before, s.keeper.LastState(), change.Args))
	case run.StateTaint, run.StateUntaint:
		s.run.Result.Text = wouldDo(change)
	case run.StateReplaceProvider:
		s.run.Result.Text = strings.ReplaceAll(s.run.Result.Text, "Successfully replaced provider", "Would replace the provider")
	}
	return nil
}

// wouldDo says what a change would do that tofu cannot preview; empty for others.
func wouldDo(change *run.StateChange) string {
	switch change.Verb {
	case run.StateImport:
		return fmt.Sprintf("Would import %q as %s", change.Args[1], change.Args[0])
	case run.StateTaint:
		return fmt.Sprintf("Would mark %s as tainted: the next plan replaces it", change.Args[0])
	case run.StateUntaint:
		return fmt.Sprintf("Would no longer mark %s as tainted", change.Args[0])
	case run.StateReplaceProvider:
		return fmt.Sprintf("Would replace the provider %s by %s", change.Args[0], change.Args[1])
	}
	return ""
}

// imported returns what a previewed import would add to the state.
func imported(before map[string]bool, state []byte, args []string) string {
	after, readable := statekeeper.Addresses(state)
	if !readable {
		return fmt.Sprintf("Would import %q as %s", args[1], args[0])
	}
	var lines []string
	for address := range after {
		if !before[address] {
			lines = append(lines, fmt.Sprintf("Would import %q as %s", args[1], address))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
