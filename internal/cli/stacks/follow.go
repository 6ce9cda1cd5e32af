// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// follower watches a changed stack and shows its runs.
type follower struct {
	*session.Session
	key types.NamespacedName
	// before is the last run before the change.
	before string
	// request is the reconcile request of the change, if it has one.
	request string
	// generation is the stack's generation after the change.
	generation int64
	// told is the last news, which is not repeated.
	told string
	// shown is the run whose log was shown last; explained is the number of errors in it.
	shown     string
	explained int
}

// followed is a follower of a stack after a change, which led to this generation.
func followed(s *session.Session, before *infrav1.Terraform, request string, generation int64) follower {
	return follower{Session: s, key: session.KeyOf(before), before: lastRunOf(before), request: request, generation: generation}
}

// waitUsage describes --timeout of commands that wait for runs.
const waitUsage = "maximum time to wait; the run continues after that"

func lastRunOf(t *infrav1.Terraform) string {
	if t == nil || t.Status.LastRun == nil {
		return ""
	}
	return t.Status.LastRun.ID
}

// begin waits until the server has reconciled the change, and returns the stack.
func (f *follower) begin(ctx context.Context) (*infrav1.Terraform, error) {
	return f.WaitFor(ctx, f.key, f.begun)
}

// begun reports whether the server started a run for the change, needs none, or cannot start one.
func (f *follower) begun(t *infrav1.Terraform) bool {
	s := &t.Status
	seen := s.ObservedGeneration >= f.generation && (f.request == "" || s.LastHandledReconcileAt == f.request)
	switch {
	case seen && (s.CurrentRun != nil && s.CurrentRun.ID != f.before || lastRunOf(t) != f.before):
		return true
	case s.CurrentRun != nil:
		f.tell("Waiting for run %s (%s), which started earlier …", s.CurrentRun.ID, s.CurrentRun.Operation)
		return false
	case t.Spec.Suspend:
		return true
	}
	// Ready is older than the change while a run is prepared that no status names yet.
	return seen && session.ConditionOf(t, infrav1.ConditionReady).ObservedGeneration >= f.generation
}

func (f *follower) tell(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); text != f.told {
		f.told = text
		f.News("%s", text)
	}
}

// runs shows the runs that follow, one after the other, and returns the stack after the last one.
func (f *follower) runs(ctx context.Context, t *infrav1.Terraform) (*infrav1.Terraform, error) {
	for {
		switch {
		case t == nil || t.Spec.Suspend && t.Status.CurrentRun == nil:
			return t, nil
		case t.Status.CurrentRun == nil && lastRunOf(t) == f.before:
			return t, nil
		case t.Status.CurrentRun == nil:
			// The run ended before we saw it; its log is still available.
			if err := f.show(ctx, t.Status.LastRun); err != nil {
				return nil, err
			}
			f.before = lastRunOf(t)
			return t, nil
		}
		current := t.Status.CurrentRun
		if err := f.show(ctx, current); err != nil {
			return nil, err
		}
		var err error
		t, err = f.WaitFor(ctx, f.key, func(t *infrav1.Terraform) bool {
			return t.Status.CurrentRun == nil || t.Status.CurrentRun.ID != current.ID
		})
		if err != nil {
			return nil, err
		}
		f.before = current.ID
	}
}

func (f *follower) show(ctx context.Context, r *infrav1.RunReference) error {
	view := &ui.RunView{Writer: f.Err, Color: f.Colors(f.Err), HidePlan: r.Operation == string(run.OperationPlan)}
	log := &session.LogReader{Session: f.Session, Stack: f.key, Options: content.LogOptions{Run: r.ID, Follow: true}, Line: view.Line}
	err := log.Run(ctx)
	f.shown, f.explained = r.ID, view.Errors
	if apierrors.IsNotFound(err) {
		return nil // there is no log; the stack's status has the result
	}
	if err != nil && ctx.Err() != nil {
		f.News("\nRun %s continues. Follow it:\n    yuba logs %s -f", r.ID, f.Call(f.key))
	}
	return err
}

// problem is the error in the stack's status; nil if there is none.
func (f *follower) problem(action string, t *infrav1.Terraform) error {
	ready := session.ConditionOf(t, infrav1.ConditionReady)
	call := f.Call(f.key)
	switch r := t.Status.LastRun; {
	case moving.Held(t) != "": // resuming it would not help
		return ui.Exitf(ui.ExitRefused, "%s %s: %s", action, f.key, moving.Held(t))
	case t.Spec.Suspend:
		return ui.Exitf(ui.ExitWaiting, "%s %s: the stack is suspended. Resume it:\n    yuba resume %s", action, f.key, call)
	case ready.Status != metav1.ConditionFalse || ready.Reason == infrav1.ReasonDriftDetected:
		return nil
	case ready.Reason == infrav1.ReasonPlanRejected:
		return ui.Exitf(ui.ExitWaiting, "%s %s: plan %s was rejected. Request another one:\n    yuba replan %s", action, f.key, t.Status.Plan.Pending, call)
	case r != nil && session.Failed(r) && r.ID == f.shown && f.explained > 0:
		return ui.Exitf(ui.ExitRunFailed, "%s %s: run %s %s", action, f.key, r.ID, r.Status)
	case r != nil && session.Failed(r) && r.ID == f.shown:
		return ui.Exitf(ui.ExitRunFailed, "%s %s: run %s %s:\n%s", action, f.key, r.ID, r.Status, ready.Message)
	}
	separator := " "
	if strings.Contains(ready.Message, "\n") {
		separator = "\n\n"
	}
	return ui.Exitf(ui.ExitFailure, "%s %s:%s%s", action, f.key, separator, ready.Message)
}
