// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"context"

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
		return fault.New(run.FailureStalePlan, "apply plan %s: the world has changed since it was made, and a plan made now would do something else. A new plan is needed", s.run.Spec.Plan.ID)
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
