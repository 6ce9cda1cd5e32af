// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// compareWithWorld plans once more and refuses the saved plan when a plan made now would mean something else. The
// saved plan itself is what is applied.
func (s *planStep) compareWithWorld(ctx context.Context) error {
	if err := s.fetchPlan(ctx); err != nil {
		return err
	}
	c, err := s.planCommand(s.site.space.PlanPath())
	if err != nil {
		return err
	}
	stream, e, err := s.program.tofu(ctx, c)
	if err != nil {
		return err
	}
	if err := s.program.verdict(c, stream, e, 0, 2); err != nil {
		return err
	}
	second, err := s.site.space.TakePlan(workspace.PlanDir+"/"+workspace.PlanName, workspace.GivenNow, s.planLimit())
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
		return fault.New(run.FailureStalePlan, "apply plan %s: the world has changed since it was made, and a plan made now would do something else. A new plan is needed", s.task.spec.Plan.ID)
	}
	return nil
}

// meaning is the digest of what a plan changes.
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

// lockIn reads the lock that was in the way; nil when no error tells of one. Backends tell of it in errors of their own as
// well, such as when init or another workspace needs a first state, which commands without -json print as text.
func lockIn(stream *plan.Stream) *run.Lock {
	errs := stream.Errors()
	for _, d := range errs {
		if lock := lockInText(d.Detail); lock != nil && d.File == "" && d.Address == "" {
			return lock
		}
	}
	if len(errs) == 0 {
		return lockInText(strings.Join(stream.Raw, "\n"))
	}
	return nil
}

func lockInText(text string) *run.Lock {
	_, info, found := strings.Cut(text, lockInfo)
	if !found {
		return nil
	}
	lock := &run.Lock{}
	for _, field := range lockField.FindAllStringSubmatch(info, -1) {
		switch field[1] {
		case "ID":
			lock.ID = field[2]
		case "Operation":
			lock.Operation = field[2]
		case "Who":
			lock.Who = field[2]
		case "Created":
			lock.Created, _ = time.Parse("2006-01-02 15:04:05.999999999 -0700 MST", field[2]) // a tool may write it otherwise
		}
	}
	if lock.ID == "" {
		return nil
	}
	return lock
}

// classify tells kinds of failures apart, by what the diagnostics carry and not by their prose.
func classify(stream *plan.Stream) run.Failure {
	if lockIn(stream) != nil {
		return run.FailureLocked
	}
	configuration := true
	for _, d := range stream.Errors() {
		switch d.Summary {
		case staleSummary:
			return run.FailureStalePlan
		case lockSummary: // a lock that cannot be taken, for a directory cannot be written, is nobody's
			configuration = false
		}
		// An error of a provider names the resource it is about; one of the language only a place.
		configuration = configuration && d.File != "" && d.Address == ""
	}
	if configuration && !stream.ApplyDone && stream.AppliedTotal == 0 {
		return run.FailureConfiguration
	}
	return ""
}
