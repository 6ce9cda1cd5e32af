// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// pushedName is where a state lies that is to be pushed to a backend of the stack's own, backupName where tofu puts the
// copy of the state that it insists on. Both go with their directories.
const (
	pushedName = workspace.GivenDir + "/pushed.tfstate"
	backupName = workspace.PlanDir + "/before.tfstate"
)

// maxText is the most of a state operation's words that its result carries.
const maxText = 16 << 10

// stateSteps are those of a run that changes the state and nothing else.
func (s *stateStep) stateSteps() []step {
	if s.task.spec.StateChange != nil && s.task.spec.StateChange.Preview {
		return []step{{run.StepPlan, s.previewChange}}
	}
	return []step{{stepContinue, s.planning.mayApply}, {run.StepApply, s.changeState}}
}

// changeCommand is the tool's own command for the change.
func (s *stateStep) changeCommand(step run.Step) (command, error) {
	change := s.task.spec.StateChange
	if change == nil {
		return command{}, fault.New("", "change the state: the run does not say how. This is a bug in Yuba")
	}
	if err := change.Check(); err != nil {
		return command{}, fault.New(run.FailureConfiguration, "change the state: %w", err)
	}
	managed := s.task.spec.Backend.Kind == run.BackendManaged
	c := command{step: step, title: "state " + string(change.Verb)}
	switch change.Verb {
	case run.StateMove, run.StateRemove:
		c.args = []string{"state", string(change.Verb), "-no-color"}
		if managed {
			c.args = append(c.args, "-lock=false", "-backup="+filepath.Join(s.site.space.Base, backupName))
		}
		if change.Preview {
			c.args = append(c.args, "-dry-run")
		}
	case run.StateImport:
		c.title = "import"
		c.args = []string{"import", "-input=false", "-no-color"}
		if managed {
			c.args = append(c.args, "-lock=false")
		}
		varFiles, err := s.site.checkedVarFiles()
		if err != nil {
			return c, err
		}
		c.args = append(c.args, varFiles...)
	case run.StatePush:
		if err := s.site.space.Write(pushedName, change.State); err != nil {
			return c, err
		}
		c.args = []string{"state", "push", "-no-color"}
		if change.Force {
			c.args = append(c.args, "-force")
		}
		c.args = append(c.args, filepath.Join(s.site.space.Base, pushedName))
	default:
		return c, fault.New(run.FailureConfiguration, "change the state: tofu has no command for %q. This is a bug in Yuba", change.Verb)
	}
	c.args = append(c.args, change.Args...)
	if !managed { // flags come before all else
		first := slices.IndexFunc(c.args, func(a string) bool { return strings.HasPrefix(a, "-") })
		c.args = slices.Insert(c.args, first, lockArgs(&s.task.spec, false)...)
	}
	return c, nil
}

// changeState runs the command and ships every state that it writes.
func (s *stateStep) changeState(ctx context.Context) error {
	c, err := s.changeCommand(run.StepApply)
	if err != nil {
		return err
	}
	c.states = s.task.spec.Backend.Kind == run.BackendManaged
	c.reserve = outputReserve + 3*s.site.stateSize()
	if err := s.program.beginApply(); err != nil {
		return err
	}
	s.task.log.Note("%s %s", s.site.space.Tool.Name, c.title)
	stream, e, err := s.program.tofu(ctx, c)
	if err != nil {
		return err
	}
	return s.judgeChange(c, stream, e)
}

// judgeChange says how a change ended. Of one whose end nobody saw only what it wrote is known.
func (s *stateStep) judgeChange(c command, stream *plan.Stream, e process.Exit) error {
	s.task.result.Text = s.program.said(stream)
	if size, limit := s.site.stateSize(), s.task.spec.Limits.StateBytes; limit > 0 && size > limit {
		return fault.New(run.FailureLimit, "keep the state: it has %d bytes, the limit is %d", size, limit)
	}
	if !e.Known {
		return &fault.Failure{Outcome: run.OutcomeInterrupted, Class: run.FailureKilled, Err: errors.New(
			"the runner died in the middle of it, so that its end is not known. What it wrote by then is the state: see `yuba state history` and `yuba state list`")}
	}
	return s.program.verdict(c, stream, e, 0)
}

// said is what the tool said, masked as the log is, its empty lines left out.
func (g *supervisor) said(stream *plan.Stream) string {
	lines := slices.DeleteFunc(slices.Clone(stream.Raw), func(l string) bool { return strings.TrimSpace(l) == "" })
	text := strings.Join(lines, "\n")
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "\n…"
	}
	return g.task.mask.Text(text)
}

// previewChange says what the change would do. An import is tried on the copy of the state that lies here and goes no
// further; a backend of the stack's own has no such copy.
func (s *stateStep) previewChange(ctx context.Context) error {
	change := s.task.spec.StateChange
	managed := s.task.spec.Backend.Kind == run.BackendManaged
	if change.Verb == run.StateImport && !managed {
		s.task.result.Text = s.task.mask.Text(fmt.Sprintf("Would import %q as %s. In a backend of the stack's own that cannot be tried beforehand.", change.Args[1], change.Args[0]))
		return nil
	}
	c, err := s.changeCommand(run.StepPlan)
	if err != nil {
		return err
	}
	before, _ := addresses(s.keeper.lastState())
	stream, e, err := s.program.tofu(ctx, c)
	if err != nil {
		return err
	}
	s.task.result.Text = s.program.said(stream)
	if err := s.program.verdict(c, stream, e, 0); err != nil {
		return err
	}
	if change.Verb == run.StateImport {
		s.task.result.Text = s.task.mask.Text(imported(before, s.keeper.lastState(), change.Args))
	}
	return nil
}

// imported says what an import that was tried would add to the state.
func imported(before map[string]bool, state []byte, args []string) string {
	after, readable := addresses(state)
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
