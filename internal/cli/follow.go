// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// How a run reference's status reads when the run did not succeed.
const (
	runFailed      = string(run.OutcomeFailed)
	runInterrupted = string(run.OutcomeInterrupted)
	runCanceled    = string(run.OutcomeCanceled)
)

// follower watches what a stack does after it was changed, and shows it.
type follower struct {
	*session
	key types.NamespacedName
	// before is the run that ended last before the change; it is not what is waited for.
	before string
	// request is the value of the annotation that came with the change, if one did.
	request string
	// generation is the stack's since the change.
	generation int64
	// told keeps news from being told twice.
	told string
	// shown is the run whose log was shown last, explained how many errors that log told.
	shown     string
	explained int
}

func lastRunOf(t *infrav1.Terraform) string {
	if t == nil || t.Status.LastRun == nil {
		return ""
	}
	return t.Status.LastRun.ID
}

// begin waits until the server has looked at the change, and returns the stack with the run that follows from it, if
// one does.
func (f *follower) begin(ctx context.Context) (*infrav1.Terraform, error) {
	return f.waitFor(ctx, f.key, f.begun)
}

// begun says whether the server has drawn its conclusions from the change: a run was begun after it, or none is needed, or
// none can be.
func (f *follower) begun(t *infrav1.Terraform) verdict {
	s := &t.Status
	seen := s.ObservedGeneration >= f.generation && (f.request == "" || s.LastHandledReconcileAt == f.request)
	switch {
	case seen && (s.CurrentRun != nil && s.CurrentRun.ID != f.before || lastRunOf(t) != f.before):
		return done
	case s.CurrentRun != nil:
		f.tell("Waiting for run %s (%s), which was begun before …", s.CurrentRun.ID, s.CurrentRun.Operation)
		return notYet
	case t.Spec.Suspend:
		return done
	// While a run that no status names is in hand, Ready is not about the change yet.
	case seen && conditionOf(t, infrav1.ConditionReady).ObservedGeneration >= f.generation:
		return done
	}
	return notYet
}

func (f *follower) tell(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); text != f.told {
		f.told = text
		f.news("%s", text)
	}
}

// runs shows the runs that are in hand, one after the other, and returns the stack when none is left.
func (f *follower) runs(ctx context.Context, t *infrav1.Terraform) (*infrav1.Terraform, error) {
	for {
		switch {
		case t == nil || t.Spec.Suspend && t.Status.CurrentRun == nil:
			return t, nil
		case t.Status.CurrentRun == nil && lastRunOf(t) == f.before:
			return t, nil
		case t.Status.CurrentRun == nil:
			// It ended before it was seen; its log is there all the same.
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
		t, err = f.waitFor(ctx, f.key, func(t *infrav1.Terraform) verdict {
			if t.Status.CurrentRun == nil || t.Status.CurrentRun.ID != current.ID {
				return done
			}
			return notYet
		})
		if err != nil {
			return nil, err
		}
		f.before = current.ID
	}
}

// show streams a run's log.
func (f *follower) show(ctx context.Context, r *infrav1.RunReference) error {
	view := &runView{w: f.err, color: f.colors(f.err), hidePlan: r.Operation == string(run.OperationPlan)}
	log := &logReader{session: f.session, stack: f.key, options: content.LogOptions{Run: r.ID, Follow: true}, line: view.line}
	err := log.run(ctx)
	f.shown, f.explained = r.ID, view.errors
	if apierrors.IsNotFound(err) {
		return nil // there is nothing to show of it; the stack tells how it ended
	}
	if err != nil && ctx.Err() != nil {
		f.news("\nRun %s goes on without you. Follow it:\n    yuba logs %s -f", r.ID, f.call(f.key))
	}
	return err
}

// problem is the error that the stack's state stands for; nil when nothing is wrong with it.
func (f *follower) problem(action string, t *infrav1.Terraform) error {
	ready := conditionOf(t, infrav1.ConditionReady)
	call := f.call(f.key)
	switch r := t.Status.LastRun; {
	case t.Spec.Suspend:
		return exitf(exitWaiting, "%s %s: the stack is suspended. Let it go on:\n    yuba resume %s", action, f.key, call)
	case ready.Status != metav1.ConditionFalse || ready.Reason == infrav1.ReasonDriftDetected:
		return nil
	case ready.Reason == infrav1.ReasonPlanRejected:
		return exitf(exitWaiting, "%s %s: plan %s was rejected. Ask for another one:\n    yuba replan %s", action, f.key, t.Status.Plan.Pending, call)
	case r != nil && failed(r) && r.ID == f.shown && f.explained > 0:
		return exitf(exitRunFailed, "%s %s: run %s %s", action, f.key, r.ID, r.Status)
	case r != nil && failed(r) && r.ID == f.shown:
		return exitf(exitRunFailed, "%s %s: run %s %s:\n%s", action, f.key, r.ID, r.Status, ready.Message)
	}
	separator := " "
	if strings.Contains(ready.Message, "\n") {
		separator = "\n\n"
	}
	return exitf(exitError, "%s %s:%s%s", action, f.key, separator, ready.Message)
}
