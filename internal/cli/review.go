// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// review brings a stack from a change to its end: it shows the runs, shows the plan, asks, approves, shows the apply.
type review struct {
	follower
	// action is what the user asked for, such as deploy, for messages.
	action string
	// yes approves without a question.
	yes bool
	// form is how the plan and the outputs are answered; machines get the stack at the end instead.
	out *output
}

// maxPlans is how many plans one review approves; each but the first is there because the one before became stale.
const maxPlans = 5

func (r *review) run(ctx context.Context) error {
	for range maxPlans {
		t, err := r.begin(ctx)
		if err != nil {
			return err
		}
		if t, err = r.runs(ctx, t); err != nil {
			return err
		}
		if t == nil {
			return exitf(exitNotFound, "%s %s: the stack was deleted meanwhile", r.action, r.key)
		}
		if !t.AwaitsApproval() || r.problem(r.action, t) != nil {
			return r.conclude(ctx, t)
		}
		if err := r.approve(ctx, t); err != nil {
			return err
		}
	}
	return exitf(exitWaiting, "%s %s: the stack changes faster than its plans are approved. See:\n    yuba status %s", r.action, r.key, r.call(r.key))
}

// approve shows the plan that waits and lets the user decide.
func (r *review) approve(ctx context.Context, t *infrav1.Terraform) error {
	if err := r.showPlan(ctx, t.Status.Plan.RunID); err != nil {
		return err
	}
	id := t.Status.Plan.Pending
	// --yes answers for what the program does, and not for what a deleted stack left behind.
	if from := t.Status.TakenOver; !r.yes || from != nil {
		if from != nil {
			r.news("The stack took over the state of %s, which was deleted%s.", formerName(t, from), deletedAt(from))
		}
		if !r.interactive() {
			return exitf(exitWaiting, "Plan %s of %s waits for approval. Approve it:\n    yuba approve %s %s", id, r.key, r.call(r.key), id)
		}
		if err := r.confirm(questionFor(t)); err != nil {
			r.news("Plan %s still waits. Apply it later:\n    yuba approve %s %s", id, r.call(r.key), id)
			return err
		}
	}
	change, request := approval(t, id)
	approved, err := r.patch(ctx, r.action, r.key, change)
	if err != nil {
		return err
	}
	r.follower.before, r.request, r.generation = lastRunOf(t), request, approved.Generation
	return nil
}

// approval is the change that approves a plan, and the request in it. Only an approval that changes no field, such as one
// that takes back a rejection or one of a plan that a circuit breaker holds, needs a request: otherwise the object's
// generation tells that it was seen. A stack that applies its plans by itself goes on doing so.
func approval(t *infrav1.Terraform, id string) (change, string) {
	annotations, request := map[string]any{infrav1.AnnotationRejected: nil}, ""
	if t.Spec.ApprovePlan == id || t.AutoApproves() {
		request = newRequest()
		annotations[infrav1.AnnotationReconcile] = request
	}
	if t.AutoApproves() {
		annotations[infrav1.AnnotationApproved] = id
		return change{}.annotate(annotations), request
	}
	return change{Spec: map[string]any{"approvePlan": id}}.annotate(annotations), request
}

func questionFor(t *infrav1.Terraform) string {
	if t.Status.Plan.IsDestroyPlan {
		return "Do you really want to destroy everything that this stack manages? There is no undo."
	}
	return "Do you want to perform these actions?"
}

// showPlan writes a run's readable plan.
func (r *review) showPlan(ctx context.Context, runID string) error {
	if r.out.machine() {
		return nil
	}
	document, err := r.content.Plan(ctx, r.key.Namespace, r.key.Name, runID)
	if err != nil {
		return fmt.Errorf("read the plan of %s: %w", r.key, err)
	}
	p, err := plan.Decode(document)
	if err != nil {
		return fmt.Errorf("read the plan of %s: %w", r.key, err)
	}
	_, err = fmt.Fprintln(r.app.out, "\n"+strings.TrimRight(plan.Render(p, plan.RenderOptions{Color: r.colors(r.app.out)}), "\n"))
	return err
}

// confirm asks a question that only "yes" answers in the affirmative.
func (a *app) confirm(question string) error {
	fmt.Fprintf(a.err, "\n%s\n  Only 'yes' will be accepted.\n\n  %s ", a.paint(a.err, colorBold, question), a.paint(a.err, colorBold, "Enter a value:"))
	answer, err := a.readLine()
	fmt.Fprintln(a.err)
	if err != nil {
		return err
	}
	if strings.TrimSpace(answer) != "yes" {
		return exitf(exitWaiting, "not confirmed; nothing was changed")
	}
	return nil
}

// readLine reads a line, unless the person interrupts first.
func (a *app) readLine() (string, error) {
	type line struct {
		text string
		err  error
	}
	typed := make(chan line, 1)
	go func() {
		text, err := bufio.NewReader(a.in).ReadString('\n')
		typed <- line{text, err}
	}()
	select {
	case l := <-typed:
		if l.err != nil && !errors.Is(l.err, io.EOF) {
			return "", fmt.Errorf("read the answer: %w", l.err)
		}
		return l.text, nil
	case <-a.interrupted:
		return "", context.Canceled
	}
}

// mustConfirm asks, unless the answer was given by flag; without a terminal the flag is the only way.
func (a *app) mustConfirm(yes bool, question string) error {
	switch {
	case yes:
		return nil
	case !a.interactive():
		return exitf(exitUsage, "%s\nThere is no terminal to ask at; say yes with --yes", question)
	}
	return a.confirm(question)
}

// conclude tells what came of it.
func (r *review) conclude(ctx context.Context, t *infrav1.Terraform) error {
	if err := r.problem(r.action, t); err != nil {
		return err
	}
	if r.out.machine() {
		return r.session.showStatus(ctx, t, r.out)
	}
	ready := conditionOf(t, infrav1.ConditionReady)
	switch {
	case t.Status.Plan.Pending != "":
		if err := r.showPlan(ctx, t.Status.Plan.RunID); err != nil {
			return err
		}
		r.news("\n%s", firstLine(ready.Message, 200))
		return nil
	case ready.Status != metav1.ConditionTrue:
		return exitf(exitWaiting, "%s %s: %s. See:\n    yuba status %s", r.action, r.key, strings.TrimRight(ready.Message, "."), r.call(r.key))
	case ready.Reason == infrav1.ReasonPlannedNoChanges || ready.Reason == infrav1.ReasonNoDrift:
		r.news("\n%s Nothing was to be done for %s.", r.paint(r.app.err, colorGreen, "No changes."), r.key)
	case t.Spec.Destroy:
		r.news("\n%s", r.paint(r.app.err, colorGreen, "Everything that "+r.key.String()+" managed is destroyed."))
		return nil
	default:
		r.news("\n%s", r.paint(r.app.err, colorGreen, r.key.String()+" is applied."))
	}
	return r.showOutputs(ctx)
}

// showOutputs tells the outputs as tofu does after an apply. Whoever may not read them has deployed all the same.
func (r *review) showOutputs(ctx context.Context) error {
	outputs, err := r.content.Outputs(ctx, r.key.Namespace, r.key.Name)
	if err != nil || len(outputs) == 0 {
		return nil //nolint:nilerr // "yuba outputs" tells why
	}
	fmt.Fprintf(r.app.out, "\n%s\n\n", r.paint(r.app.out, colorBold, "Outputs:"))
	return printOutputs(r.app.out, outputs, false)
}
