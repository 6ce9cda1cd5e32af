// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/fetch"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
	"github.com/yuba-dev/yuba/internal/runs/runner/supervisor"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// maxAnswer limits what a console or a graph prints: it is in the run's result.
const maxAnswer = 256 << 10

// inspect evaluates expressions, or draws the program. Neither writes, and the answer is in the result's text only: errors
// quote values, too, and everybody who sees the stack can read logs and errors.
func (s *stateStep) inspect(ctx context.Context) error {
	change := s.run.Spec.StateChange
	if err := change.Check(); err != nil {
		return fault.New(run.FailureConfiguration, "inspect the stack: %w", err)
	}
	c := supervisor.Command{Step: run.StepPlan, Title: string(change.Verb), Args: []string{string(change.Verb), "-no-color"},
		Capture: &fetch.Bounded{Limit: maxAnswer}, Complaints: &fetch.Bounded{Limit: maxAnswer}}
	if change.Verb == run.StateConsole {
		varFiles, err := s.site.CheckedVarFiles()
		if err != nil {
			return err
		}
		c.Args, c.Stdin = append(c.Args, varFiles...), change.Input
	}
	stream, e, err := s.program.Tofu(ctx, c) // only runs that plan get the init of another stack
	if err != nil {
		return err
	}
	if failedByItself(e) {
		s.run.Result.Text = s.run.Mask.Text(strings.TrimSpace(string(c.Capture.Bytes()) + string(c.Complaints.Bytes())))
		return fault.New(run.FailureConfiguration, "%w", errFailed[change.Verb])
	}
	if err := s.program.Verdict(c, stream, e, 0); err != nil {
		return err
	}
	if c.Capture.Over {
		return fault.New(run.FailureLimit, "read the output of %s %s: it exceeds the limit of %d bytes", s.site.Space.Tool.Name, c.Title, maxAnswer)
	}
	s.run.Result.Text = s.run.Mask.Text(strings.TrimSuffix(string(c.Capture.Bytes()), "\n"))
	return nil
}

// failedByItself reports whether the tool ended by itself, with an error: only then its output says why the run failed. A tool that was
// told to stop ends with the same code.
func failedByItself(e process.Exit) bool {
	return e.Code == 1 && e.Signal == 0 && !e.Held && e.Exceeded == "" && !e.TimedOut && e.Interrupted == ""
}

// errFailed is what everybody may know of a failed inspection.
var errFailed = map[run.StateVerb]error{
	run.StateConsole: errors.New("the expressions could not be evaluated. The user who requested the run can read why in its result"),
	run.StateGraph:   errors.New("the program cannot be drawn. The user who requested the run can read why in its result"),
}

// planChange plans on the state that the run was given: what a rollback would lead to, or what a refresh
// would record.
func (s *stateStep) planChange(ctx context.Context) error {
	change, p := s.run.Spec.StateChange, s.planning
	if err := change.Check(); err != nil {
		return fault.New(run.FailureConfiguration, "plan the change: %w", err)
	}
	c, err := p.planCommand(s.site.Space.PlanPath())
	if err != nil {
		return err
	}
	if change.Verb == run.StateRefresh {
		c.Args = append(c.Args, refreshOnly)
	}
	stream, e, err := p.afterInit(ctx, c)
	if err != nil {
		return err
	}
	s.run.TakeWarnings(stream)
	if err := s.program.Verdict(c, stream, e, 0, 2); err != nil {
		return err
	}
	if p.held, err = s.site.Space.TakePlan(workspace.PlanDir+"/"+workspace.PlanName, workspace.GivenPlan, p.planLimit()); err != nil {
		return err
	}
	shown, err := p.showPlan(ctx, p.held, 0)
	if err != nil {
		return err
	}
	_, sensitive, err := plan.Redact(shown, s.run.Mask)
	if err != nil {
		return fault.New("", "read the plan: %w", err)
	}
	text, err := p.planText(ctx, sensitive)
	if err != nil {
		return err
	}
	if len(text) > maxAnswer {
		text = append(text[:bytes.LastIndexByte(text[:maxAnswer], '\n')+1], "(cut: the plan is longer)\n"...)
	}
	s.run.Result.Text = strings.TrimSpace(string(text))
	return nil
}

// refreshOnly makes a plan or an apply record what others changed, and nothing else.
const refreshOnly = "-refresh-only"

// refreshCommand is the tool's command for a refresh.
func (s *stateStep) refreshCommand(c supervisor.Command) (supervisor.Command, error) {
	c.Title = "apply -refresh-only"
	c.Args = []string{"apply", "-input=false", "-no-color", "-auto-approve"}
	if s.run.Spec.Backend.Kind == run.BackendManaged {
		c.Args = append(c.Args, "-lock=false")
	} else {
		c.Args = append(c.Args, lockArgs(&s.run.Spec, false)...)
	}
	varFiles, err := s.site.CheckedVarFiles()
	c.Args = slices.Concat(append(c.Args, refreshOnly), targetArgs(&s.run.Spec), parallelism(&s.run.Spec), varFiles)
	return c, err
}
