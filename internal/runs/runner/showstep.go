// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/yuba-dev/yuba/internal/kit/mask"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// maxPlanText is where the plan that the tool prints for people is cut, and beyond which its own document is left out:
// nobody reads more, and the server has a limit of its own.
const (
	maxPlanText     = 32 << 20
	maxPlanDocument = 64 << 20
)

// show makes the plan readable: redacted and masked before it leaves this process.
func (j *job) show(ctx context.Context) error {
	shown, err := j.showPlan(ctx, j.held, 0)
	if err != nil {
		return err
	}
	described, err := plan.Describe(shown)
	if err != nil {
		return fault.New("", "read the plan: %w", err)
	}
	j.result.Plan.ChangesDigest = described.ChangesDigest
	j.result.Plan.Fates, j.result.Plan.FatesTotal = j.maskedFates(described), described.FatesTotal
	j.setPlan(j.result.Plan)
	if err := j.ship(ctx, "the readable plan", "/plan.json", j.mask.Line(described.Document)); err != nil {
		return err
	}
	if err := j.showMore(ctx, shown); err != nil {
		return err
	}
	if !j.result.Plan.Changes {
		return j.unchanged(ctx)
	}
	return nil
}

// showMore ships the plan in the forms that others ask for.
func (j *job) showMore(ctx context.Context, shown []byte) error {
	if !j.spec.PlanDocument && !j.spec.PlanText {
		return nil
	}
	document, sensitive, err := plan.Redact(shown, j.mask)
	if err != nil {
		return fault.New("", "read the plan: %w", err)
	}
	if j.spec.PlanDocument {
		if len(document) > maxPlanDocument {
			j.addWarning(fmt.Sprintf("The plan's document has %d bytes and is not kept; the limit is %d", len(document), maxPlanDocument))
			document = nil
		}
		if err := j.ship(ctx, "the plan's document", "/show.json", document); err != nil {
			return err
		}
	}
	if j.spec.PlanText {
		return j.showText(ctx, sensitive)
	}
	return nil
}

// showText ships the plan as the tool prints it. The tool hides what is marked as sensitive; what providers copied from
// there, and secrets of the run, are masked here.
func (j *job) showText(ctx context.Context, sensitive *mask.Masker) error {
	c := command{step: run.StepShow, args: []string{"show", "-no-color", j.heldPath(j.held)},
		capture: &bounded{limit: maxPlanText}}
	err := j.byInitsProviders(func() error {
		stream, e, err := j.tofu(ctx, c)
		if err != nil {
			return err
		}
		return errors.Join(j.verdict(c, stream, e, 0), j.unchangedPlan(j.held))
	})
	if err != nil {
		return err
	}
	text := []byte(sensitive.Text(j.mask.Text(string(c.capture.Bytes()))))
	if c.capture.over || len(text) > maxPlanText {
		// The last line may be half of a secret, and masks may be longer than what they hide.
		text = text[:min(len(text), maxPlanText)]
		text = append(text[:bytes.LastIndexByte(text, '\n')+1], fmt.Sprintf("\n(cut: the plan has more than %d MiB of text)\n", maxPlanText>>20)...)
	}
	return j.ship(ctx, "the plan's text", "/plan.txt", text)
}

// unchanged ends the steps of a plan that found nothing to do.
func (j *job) unchanged(ctx context.Context) error {
	if j.spec.ReadUnchanged {
		if err := j.readBack(ctx); err != nil {
			return err
		}
	}
	return errFinished
}
