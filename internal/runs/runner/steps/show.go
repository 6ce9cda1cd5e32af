// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/yuba-dev/yuba/internal/kit/mask"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/fetch"
	"github.com/yuba-dev/yuba/internal/runs/runner/supervisor"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// maxPlanText is where the readable plan is cut, and beyond which its JSON is omitted.
const (
	maxPlanText     = 32 << 20
	maxPlanDocument = 64 << 20
)

// show makes the plan readable: redacted and masked before it leaves this process.
func (s *planStep) show(ctx context.Context) error {
	shown, err := s.showPlan(ctx, s.held, 0)
	if err != nil {
		return err
	}
	described, err := plan.Describe(shown)
	if err != nil {
		return fault.New("", "read the plan: %w", err)
	}
	s.run.Result.Plan.ChangesDigest = described.ChangesDigest
	s.run.Result.Plan.Fates, s.run.Result.Plan.FatesTotal = s.maskedFates(described), described.FatesTotal
	s.setPlan(s.run.Result.Plan)
	if err := s.ship(ctx, "the readable plan", "/plan.json", s.run.Mask.Line(described.Document)); err != nil {
		return err
	}
	if err := s.showOutputs(ctx, shown); err != nil {
		return err
	}
	if err := s.showMore(ctx, shown); err != nil {
		return err
	}
	if !s.run.Result.Plan.Changes {
		return s.unchanged(ctx)
	}
	return nil
}

// showOutputs ships the planned outputs that the server checks against contracts. Like the saved
// plan, they have sensitive values, and the server encrypts them.
func (s *planStep) showOutputs(ctx context.Context, shown []byte) error {
	if len(s.run.Spec.PlanOutputs) == 0 {
		return nil
	}
	outputs, err := plan.OutputChanges(shown, s.run.Spec.PlanOutputs)
	if err != nil {
		return fault.New("", "read the plan: %w", err)
	}
	return s.ship(ctx, "the planned outputs", "/outputs.json", outputs)
}

// showMore ships the plan in the other requested forms.
func (s *planStep) showMore(ctx context.Context, shown []byte) error {
	if !s.run.Spec.PlanDocument && !s.run.Spec.PlanText {
		return nil
	}
	document, sensitive, err := plan.Redact(shown, s.run.Mask)
	if err != nil {
		return fault.New("", "read the plan: %w", err)
	}
	if s.run.Spec.PlanDocument {
		if len(document) > maxPlanDocument {
			s.run.AddWarning(fmt.Sprintf("The plan's JSON has %d bytes and was not stored; the limit is %d", len(document), maxPlanDocument))
			document = nil
		}
		if err := s.ship(ctx, "the plan's document", "/show.json", document); err != nil {
			return err
		}
	}
	if s.run.Spec.PlanText {
		return s.showText(ctx, sensitive)
	}
	return nil
}

// showText ships the plan as printed.
func (s *planStep) showText(ctx context.Context, sensitive *mask.Masker) error {
	text, err := s.planText(ctx, sensitive)
	if err != nil {
		return err
	}
	return s.ship(ctx, "the plan's text", "/plan.txt", text)
}

// planText is the plan as printed, without secrets of the run or copied sensitive values.
func (s *planStep) planText(ctx context.Context, sensitive *mask.Masker) ([]byte, error) {
	c := supervisor.Command{Step: run.StepShow, Args: []string{"show", "-no-color", s.site.Space.PlanFile(s.held)},
		Capture: &fetch.Bounded{Limit: maxPlanText}}
	err := s.site.Space.ByInitsProviders(func() error {
		stream, e, err := s.program.Tofu(ctx, c)
		if err != nil {
			return err
		}
		return errors.Join(s.program.Verdict(c, stream, e, 0), s.site.Space.UnchangedPlan(s.held))
	})
	if err != nil {
		return nil, err
	}
	text := []byte(sensitive.Text(s.run.Mask.Text(string(c.Capture.Bytes()))))
	if c.Capture.Over || len(text) > maxPlanText {
		// The last line may end within a secret, and masks may be longer than the secret.
		text = text[:min(len(text), maxPlanText)]
		text = append(text[:bytes.LastIndexByte(text, '\n')+1], fmt.Sprintf("\n(cut: the plan has more than %d MiB of text)\n", maxPlanText>>20)...)
	}
	return text, nil
}

// unchanged ends the steps of a plan without changes.
func (s *planStep) unchanged(ctx context.Context) error {
	if s.run.Spec.ReadUnchanged {
		if err := s.readBack(ctx); err != nil {
			return err
		}
	}
	return execution.ErrFinished
}
