// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/initstep"
	"github.com/yuba-dev/yuba/internal/runs/runner/link"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
	"github.com/yuba-dev/yuba/internal/runs/runner/statekeeper"
	"github.com/yuba-dev/yuba/internal/runs/runner/supervisor"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// planStep makes the plan, shows it, and asks whether to go on.
type planStep struct {
	run     *execution.Run
	site    *execution.Site
	keeper  *statekeeper.Keeper
	program *supervisor.Supervisor
	locks   *supervisor.Locks
	init    *initstep.Step
	// aside waits without occupying a place for runs.
	aside func(context.Context, func(context.Context) error) error
	// held is the plan to show and apply.
	held workspace.Plan
	// installed is what a question after init is about.
	installed *run.Installed
}

// maxDrift limits the drifted addresses in a result.
const maxDrift = 100

// planCommand is the call that plans by the spec.
func (s *planStep) planCommand(out string) (supervisor.Command, error) {
	args := []string{"plan", "-json", "-input=false", "-no-color", "-detailed-exitcode", "-out=" + out}
	if s.run.Spec.Backend.Kind == run.BackendManaged {
		args = append(args, "-lock=false") // nothing else writes to this copy of the state
	} else {
		args = append(args, lockArgs(&s.run.Spec, s.run.Spec.NoPlanLock)...)
	}
	if s.run.Spec.Destroy {
		args = append(args, "-destroy")
	}
	args = append(args, targetArgs(&s.run.Spec)...)
	varFiles, err := s.site.CheckedVarFiles()
	return supervisor.Command{Step: run.StepPlan, Args: slices.Concat(args, parallelism(&s.run.Spec), varFiles)}, err
}

// targetArgs limit a plan to the targets of the stack, or of a refresh that names others.
func targetArgs(spec *run.Spec) (args []string) {
	targets := spec.Targets
	if c := spec.StateChange; c != nil && c.Verb == run.StateRefresh && len(c.Args) > 0 {
		targets = c.Args
	}
	for _, target := range targets {
		args = append(args, "-target="+target)
	}
	return args
}

// lockArgs returns the lock arguments for a custom backend.
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

// plan makes the plan and records its changes.
func (s *planStep) plan(ctx context.Context) error {
	c, err := s.planCommand(s.site.Space.PlanPath())
	if err != nil {
		return err
	}
	stream, e, err := s.afterInit(ctx, c)
	if err != nil {
		return err
	}
	s.run.TakeWarnings(stream)
	if err := s.program.Verdict(c, stream, e, 0, 2); err != nil {
		return err
	}
	result := &run.PlanResult{Changes: e.Code == 2, Counts: run.Counts(stream.Planned)}
	result.Fates, result.FatesTotal = supervisor.HeardFates(stream)
	for _, change := range stream.Drift[:min(len(stream.Drift), maxDrift)] {
		result.Drift = append(result.Drift, change.Address)
	}
	if !result.Changes && (!s.run.Spec.Describe || s.run.Spec.Purpose == run.PurposeDrift) {
		// A drift check that finds nothing leaves no plan.
		s.setPlan(result)
		return s.unchanged(ctx)
	}
	if s.held, err = s.site.Space.TakePlan(workspace.PlanDir+"/"+workspace.PlanName, workspace.GivenPlan, s.planLimit()); err != nil {
		return err
	}
	result.Digest, result.Size = s.held.Digest, s.held.Size
	s.setPlan(result)
	if result.Changes && s.run.Spec.Operation == run.OperationPlan {
		s.site.Space.ListMade(result.Digest)
	}
	if result.Changes && s.run.Spec.Operation == run.OperationPlan && !s.run.Spec.Review {
		return s.shipPlan(ctx)
	}
	return nil
}

// afterInit runs the first process after init. If init was skipped and that fails, init may be why.
func (s *planStep) afterInit(ctx context.Context, c supervisor.Command) (*plan.Stream, process.Exit, error) {
	stream, e, err := s.program.Tofu(ctx, c)
	if err == nil {
		stream, e, err = s.locks.PastLeftLock(ctx, c, stream, e)
	}
	if err != nil {
		return stream, e, err
	}
	if !s.init.BlamesInit(stream, e) {
		return stream, e, s.init.ProveInit(e)
	}
	if err := s.init.InitAfterAll(ctx); err != nil {
		return nil, process.Exit{}, err
	}
	return s.program.Tofu(ctx, c)
}

// compareWithWorld plans again and refuses the saved plan if a new one would change something else.
func (s *planStep) compareWithWorld(ctx context.Context) error {
	if err := s.fetchPlan(ctx); err != nil {
		return err
	}
	c, err := s.planCommand(s.site.Space.PlanPath())
	if err != nil {
		return err
	}
	stream, e, err := s.program.Tofu(ctx, c)
	if err != nil {
		return err
	}
	if err := s.program.Verdict(c, stream, e, 0, 2); err != nil {
		return err
	}
	second, err := s.site.Space.TakePlan(workspace.PlanDir+"/"+workspace.PlanName, workspace.GivenNow, s.planLimit())
	if err != nil {
		return err
	}
	approved, err := s.meaning(ctx, s.held)
	if err != nil {
		return err
	}
	now, err := s.meaning(ctx, second)
	if err != nil {
		return err
	}
	if approved != now {
		return fault.New(run.FailureStalePlan, "apply plan %s: the real infrastructure has changed since, and a new plan would differ. Make a new plan", s.run.Spec.Plan.ID)
	}
	return nil
}

// meaning is the digest of a plan's changes.
func (s *planStep) meaning(ctx context.Context, p workspace.Plan) (string, error) {
	text, err := s.showPlan(ctx, p, 0)
	if err != nil {
		return "", err
	}
	described, err := plan.Describe(text)
	if err != nil {
		return "", fault.New("", "read the plan: %w", err)
	}
	return described.ChangesDigest, nil
}

func (s *planStep) setPlan(result *run.PlanResult) {
	s.run.Result.Plan = result
	s.run.Lock()
	defer s.run.Unlock()
	s.run.Journal.Plan = result
	if result.Changes { // one that changes nothing is worth nothing to the next runner
		s.run.SaveJournal()
	}
}

// shipPlan sends the saved plan to the server.
func (s *planStep) shipPlan(ctx context.Context) error {
	data, err := s.site.Space.ReadPlan(s.held)
	if err != nil {
		return err
	}
	return s.ship(ctx, "the saved plan", "/plan", data)
}

// ship sends the plan, or a description of it, to the server.
func (s *planStep) ship(ctx context.Context, what, path string, data []byte) error {
	_, err := s.run.Persist(ctx, link.Request{Method: http.MethodPut, Path: path, Body: data, Header: map[string]string{run.HeaderPlanDigest: s.held.Digest}})
	var r *link.Refusal
	if errors.As(err, &r) {
		return fault.New(r.Problem.Class, "store %s: %w", what, err)
	}
	if err != nil {
		return fmt.Errorf("store %s: %w", what, err)
	}
	return nil
}

// showPlan returns tofu's description of a plan. It has sensitive values and stays in memory.
// Without a timeout, the run's applies.
func (s *planStep) showPlan(ctx context.Context, p workspace.Plan, timeout time.Duration) ([]byte, error) {
	c := supervisor.Command{Step: run.StepShow, Args: []string{"show", "-json", "-no-color", s.site.Space.PlanFile(p)}, Timeout: timeout}
	var shown []byte
	err := s.site.Space.ByInitsProviders(func() (err error) {
		shown, err = s.program.Document(ctx, c, 4*s.planLimit())
		return err
	})
	if err != nil {
		return nil, err
	}
	return shown, s.site.Space.UnchangedPlan(p)
}

// planLimit is the size of the largest plan that the server accepts.
func (s *planStep) planLimit() int64 {
	return cmp.Or(max(0, s.run.Spec.Limits.PlanBytes), run.DefaultLimits().PlanBytes)
}
