// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/fetch"
	"github.com/yuba-dev/yuba/internal/runs/runner/link"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// maxDrift is how many drifted addresses a result names.
const maxDrift = 100

// planCommand is the call that plans what the spec says.
func (s *planStep) planCommand(out string) (command, error) {
	args := []string{"plan", "-json", "-input=false", "-no-color", "-detailed-exitcode", "-out=" + out}
	if s.task.spec.Backend.Kind == run.BackendManaged {
		args = append(args, "-lock=false") // the state is a snapshot that nobody else writes to
	} else {
		args = append(args, lockArgs(&s.task.spec, s.task.spec.NoPlanLock)...)
	}
	if s.task.spec.Destroy {
		args = append(args, "-destroy")
	}
	for _, target := range s.task.spec.Targets {
		args = append(args, "-target="+target)
	}
	varFiles, err := s.site.checkedVarFiles()
	return command{step: run.StepPlan, args: slices.Concat(args, parallelism(&s.task.spec), varFiles)}, err
}

// lockArgs say how to treat the lock of an own backend.
func lockArgs(spec *run.Spec, without bool) []string {
	switch timeout := time.Duration(spec.LockTimeout); {
	case without:
		return []string{"-lock=false"}
	case timeout > 0:
		return []string{"-lock-timeout=" + timeout.String()}
	}
	return nil
}

func parallelism(spec *run.Spec) []string {
	if spec.Parallelism <= 0 {
		return nil
	}
	return []string{fmt.Sprintf("-parallelism=%d", spec.Parallelism)}
}

// plan makes the plan and says what it would change.
func (s *planStep) plan(ctx context.Context) error {
	c, err := s.planCommand(s.site.space.PlanPath())
	if err != nil {
		return err
	}
	stream, e, err := s.afterInit(ctx, c)
	if err != nil {
		return err
	}
	s.task.takeWarnings(stream)
	if err := s.program.verdict(c, stream, e, 0, 2); err != nil {
		return err
	}
	result := &run.PlanResult{Changes: e.Code == 2, Counts: run.Counts(stream.Planned)}
	result.Fates, result.FatesTotal = heardFates(stream)
	for _, change := range stream.Drift[:min(len(stream.Drift), maxDrift)] {
		result.Drift = append(result.Drift, change.Address)
	}
	if !result.Changes && (!s.task.spec.Describe || s.task.spec.Purpose == run.PurposeDrift) {
		// A look at the world that finds nothing leaves nothing to be read.
		s.setPlan(result)
		return s.unchanged(ctx)
	}
	if s.held, err = s.site.space.TakePlan(workspace.PlanDir+"/"+workspace.PlanName, workspace.GivenPlan, s.planLimit()); err != nil {
		return err
	}
	result.Digest, result.Size = s.held.Digest, s.held.Size
	s.setPlan(result)
	if result.Changes && s.task.spec.Operation == run.OperationPlan {
		s.site.space.ListMade(result.Digest)
	}
	if result.Changes && s.task.spec.Operation == run.OperationPlan && !s.task.spec.Review {
		return s.shipPlan(ctx)
	}
	return nil
}

// afterInit runs the first process that works with what init left. When it fails and init was left out, that may be why.
func (s *planStep) afterInit(ctx context.Context, c command) (*plan.Stream, process.Exit, error) {
	stream, e, err := s.program.tofu(ctx, c)
	if err == nil {
		stream, e, err = s.locks.pastLeftLock(ctx, c, stream, e)
	}
	if err != nil {
		return stream, e, err
	}
	if !s.init.blamesInit(stream, e) {
		return stream, e, s.init.proveInit(e)
	}
	if err := s.init.initAfterAll(ctx); err != nil {
		return nil, process.Exit{}, err
	}
	return s.program.tofu(ctx, c)
}

func (s *planStep) setPlan(result *run.PlanResult) {
	s.task.result.Plan = result
	s.task.Lock()
	defer s.task.Unlock()
	s.task.Journal.Plan = result
	if result.Changes { // one that changes nothing is worth nothing to the next runner
		s.task.SaveJournal()
	}
}

// shipPlan gives the saved plan to the server.
func (s *planStep) shipPlan(ctx context.Context) error {
	data, err := s.site.space.ReadPlan(s.held)
	if err != nil {
		return err
	}
	return s.ship(ctx, "the saved plan", "/plan", data)
}

// ship gives the plan, or what is shown of it, to the server, and says which plan it is.
func (s *planStep) ship(ctx context.Context, what, path string, data []byte) error {
	_, err := s.task.persist(ctx, link.Request{Method: http.MethodPut, Path: path, Body: data, Header: map[string]string{run.HeaderPlanDigest: s.held.Digest}})
	var r *link.Refusal
	if errors.As(err, &r) {
		return fault.New(r.Problem.Class, "store %s: %w", what, err)
	}
	if err != nil {
		return fmt.Errorf("store %s: %w", what, err)
	}
	return nil
}

// showPlan returns tofu's own description of a plan. It holds sensitive values and is kept in memory only. Without a
// timeout the run's own limits it.
func (s *planStep) showPlan(ctx context.Context, p workspace.Plan, timeout time.Duration) ([]byte, error) {
	c := command{step: run.StepShow, args: []string{"show", "-json", "-no-color", s.site.space.PlanFile(p)}, timeout: timeout}
	var shown []byte
	err := s.site.space.ByInitsProviders(func() (err error) {
		shown, err = s.program.document(ctx, c, 4*s.planLimit())
		return err
	})
	if err != nil {
		return nil, err
	}
	return shown, s.site.space.UnchangedPlan(p)
}

// document runs a command whose output is data, not news.
func (g *supervisor) document(ctx context.Context, c command, limit int64) ([]byte, error) {
	c.capture = &fetch.Bounded{Limit: limit}
	stream, e, err := g.tofu(ctx, c)
	if err != nil {
		return nil, err
	}
	if c.capture.Over {
		return nil, fault.New(run.FailureLimit, "read what %s %s says: it is over the limit of %d bytes", g.site.space.Tool.Name, c.step, limit)
	}
	if err := g.verdict(c, stream, e, 0); err != nil {
		return nil, err
	}
	if text := c.capture.Bytes(); json.Valid(text) {
		return text, nil
	}
	return nil, fault.New(run.FailureTool, "read what %s %s says: it is not JSON", g.site.space.Tool.Name, c.step)
}

// takeWarnings gathers the tool's warnings, each once.
func (t *task) takeWarnings(stream *plan.Stream) {
	for _, w := range stream.Diagnostics.Warnings() {
		text := w.String()
		if !slices.Contains(t.result.Warnings, text) {
			t.addWarning(text)
		}
	}
}
