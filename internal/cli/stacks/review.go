// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/listing"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
	"github.com/yuba-dev/yuba/internal/verbs"
)

// review follows a change to its end: it shows runs and plan, asks, approves, and shows the apply.
type review struct {
	follower
	// action is the command, such as deploy, for messages.
	action string
	// yes approves without a question.
	yes bool
	// out is the form of -o. Programs only get the stack at the end.
	out *ui.Output
}

// maxPlans limits the plans that one review approves. Each but the first replaces a stale one.
const maxPlans = 5

func (r *review) run(ctx context.Context) error {
	for range maxPlans {
		t, err := r.end(ctx)
		if err != nil {
			return err
		}
		if t.RefusedByPolicy() {
			return r.showWaiting(ctx, t)
		}
		if !t.AwaitsApproval() || r.problem(r.action, t) != nil {
			return r.conclude(ctx, t)
		}
		if err := r.approve(ctx, t); err != nil {
			return err
		}
	}
	return ui.Exitf(ui.ExitWaiting, "%s %s: the stack changes faster than its plans are approved. See:\n    yuba status %s", r.action, r.key, r.Call(r.key))
}

// end shows the runs that follow from a change, and returns the stack after the last one.
func (r *review) end(ctx context.Context) (*infrav1.Terraform, error) {
	t, err := r.begin(ctx)
	if err == nil {
		t, err = r.runs(ctx, t)
	}
	if err == nil && t == nil {
		err = ui.Exitf(ui.ExitNotFound, "%s %s: the stack was deleted meanwhile", r.action, r.key)
	}
	return t, err
}

func (r *review) approve(ctx context.Context, t *infrav1.Terraform) error {
	if err := r.showPlan(ctx, t.Status.Plan.RunID); err != nil {
		return err
	}
	if news := contractNews(t); news != "" {
		r.News("%s", news)
	}
	if news := policyNews(t); news != "" {
		r.News("%s", news)
	}
	id := t.Status.Plan.Pending
	// --yes does not approve changes to the state that a deleted stack left behind.
	if from := t.Status.TakenOver; !r.yes || from != nil {
		if from != nil {
			r.News("The stack continues with the state of %s, which was deleted%s.", session.FormerName(t, from), session.DeletedAt(from))
		}
		if !r.Interactive() {
			return ui.Exitf(ui.ExitWaiting, "Plan %s of %s waits for approval. Approve it:\n    yuba approve %s %s", id, r.key, r.Call(r.key), id)
		}
		if err := r.Confirm(questionFor(t)); err != nil {
			r.News("Plan %s is still pending. Approve it later:\n    yuba approve %s %s", id, r.Call(r.key), id)
			return err
		}
	}
	if t.NeedsRecordedApprovals() {
		approved, err := recordApproval(ctx, r.Session, t, id)
		if err != nil {
			return err
		}
		if approved.NeedsRecordedApprovals() && approved.Status.Plan.Pending == id {
			return stillWaits(r.Session, approved, id, true, r.out)
		}
		r.follower.before, r.request, r.generation = lastRunOf(t), "", approved.Generation
		return nil
	}
	change, request := verbs.Approve(t, id, time.Now())
	approved, err := r.Patch(ctx, r.action, r.key, change)
	if err != nil {
		return err
	}
	r.follower.before, r.request, r.generation = lastRunOf(t), request, approved.Generation
	return nil
}

func questionFor(t *infrav1.Terraform) string {
	if t.Status.Plan.IsDestroyPlan {
		return "Do you really want to destroy everything that this stack manages? There is no undo."
	}
	return "Do you want to perform these actions?"
}

func (r *review) showPlan(ctx context.Context, runID string) error {
	if r.out.Machine() {
		return nil
	}
	p, err := readPlan(ctx, r.Session, r.key, runID)
	if err != nil {
		return fmt.Errorf("read the plan of %s: %w", r.key, err)
	}
	_, err = fmt.Fprintln(r.App.Out, "\n"+strings.TrimRight(plan.Render(p, plan.RenderOptions{Color: r.Colors(r.App.Out)}), "\n"))
	return err
}

func (r *review) conclude(ctx context.Context, t *infrav1.Terraform) error {
	if err := r.problem(r.action, t); err != nil {
		return err
	}
	if r.out.Machine() {
		return r.PrintStack(t, r.out)
	}
	ready := session.ConditionOf(t, infrav1.ConditionReady)
	switch {
	case t.Status.Plan.Pending != "":
		if err := r.showPlan(ctx, t.Status.Plan.RunID); err != nil {
			return err
		}
		r.News("\n%s", ui.FirstLine(ready.Message, 200))
		return nil
	case ready.Status != metav1.ConditionTrue:
		return ui.Exitf(ui.ExitWaiting, "%s %s: %s. See:\n    yuba status %s", r.action, r.key, strings.TrimRight(ready.Message, "."), r.Call(r.key))
	case ready.Reason == infrav1.ReasonPlannedNoChanges || ready.Reason == infrav1.ReasonNoDrift:
		r.News("\n%s %s is up to date.", r.Paint(r.App.Err, ui.ColorGreen, "No changes."), r.key)
	case t.Spec.Destroy:
		r.News("\n%s", r.Paint(r.App.Err, ui.ColorGreen, "Destroyed everything that "+r.key.String()+" managed."))
		return nil
	default:
		r.News("\n%s", r.Paint(r.App.Err, ui.ColorGreen, r.key.String()+" is applied."))
	}
	return r.showOutputs(ctx)
}

// showOutputs shows the outputs, if they can be read, as tofu does after an apply.
func (r *review) showOutputs(ctx context.Context) error {
	outputs, err := r.Content.Outputs(ctx, r.key.Namespace, r.key.Name)
	if err != nil || len(outputs) == 0 {
		return nil //nolint:nilerr // "yuba outputs" shows the error
	}
	fmt.Fprintf(r.App.Out, "\n%s\n\n", r.Paint(r.App.Out, ui.ColorBold, "Outputs:"))
	return listing.PrintOutputs(r.App.Out, outputs, false)
}
