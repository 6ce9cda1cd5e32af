// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/secrets/declare"
	"github.com/yuba-dev/yuba/internal/secrets/readers"
	"github.com/yuba-dev/yuba/internal/secrets/rotate"
	"github.com/yuba-dev/yuba/internal/verbs"
)

// dependents are the stacks that run when the secrets change: those that the file names, in its order, and
// those that read a Secret which it names.
func dependents(ctx context.Context, s *session.Session, f *declare.File) ([]string, error) {
	var reading []infrav1.Terraform
	for _, o := range f.Objects() {
		namespace := cmp.Or(o.Namespace, s.Namespace)
		var list infrav1.TerraformList
		if err := s.Objects.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return nil, fmt.Errorf("find the stacks that read Secret %s/%s: %w", namespace, o.Name, err)
		}
		for _, t := range list.Items {
			if readers.Reads(&t, o.Name) && t.DeletionTimestamp.IsZero() {
				reading = append(reading, t)
			}
		}
	}
	var named []string
	for _, name := range f.Dependents {
		if !strings.Contains(name, "/") {
			name = home(f, s.Namespace) + "/" + name
		}
		named = append(named, name)
	}
	return readers.Order(reading, named), nil
}

// home is the namespace of dependents that the file names without one: that of its first Secret of Kubernetes, or
// the namespace of the command.
func home(f *declare.File, command string) string {
	if objects := f.Objects(); len(objects) > 0 {
		return cmp.Or(objects[0].Namespace, command)
	}
	return command
}

// stacks runs dependents by the API.
type stacks struct {
	s           *session.Session
	file        *declare.File
	environment string
}

// Gone implements [rotate.Stacks].
func (r *stacks) Gone(ctx context.Context, name string) error {
	key := keyOf(name)
	t, err := r.s.Get(ctx, key)
	switch {
	case session.NoStack(err):
		return nil
	case err != nil:
		return err
	case !concerns(t, r.file):
		return nil
	}
	return fmt.Errorf("it began with stack %s, which still reads the secrets, and this command looks in namespace %s. Continue it there:\n    yuba secrets rotate %s -n %s", name, r.s.Namespace, r.environment, key.Namespace)
}

// concerns reports whether a stack reads a Secret that the file names, or is named by it, for a command in the
// namespace of the stack.
func concerns(t *infrav1.Terraform, f *declare.File) bool {
	if !t.DeletionTimestamp.IsZero() {
		return false
	}
	if slices.Contains(f.Dependents, t.Namespace+"/"+t.Name) || slices.Contains(f.Dependents, t.Name) && home(f, t.Namespace) == t.Namespace {
		return true
	}
	return slices.ContainsFunc(f.Objects(), func(o *declare.Kubernetes) bool {
		return cmp.Or(o.Namespace, t.Namespace) == t.Namespace && readers.Reads(t, o.Name)
	})
}

func keyOf(name string) types.NamespacedName {
	namespace, name, _ := strings.Cut(name, "/")
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// Check implements [rotate.Stacks].
func (r *stacks) Check(ctx context.Context, name string) error {
	t, err := r.s.Get(ctx, keyOf(name))
	if err != nil {
		return err
	}
	ready := session.ConditionOf(t, infrav1.ConditionReady)
	call := r.s.Call(keyOf(name))
	switch {
	case t.Spec.Suspend:
		return fmt.Errorf("it is suspended. Resume it:\n    yuba resume %s", call)
	case t.Status.LastRun != nil && session.Failed(t.Status.LastRun) && ready.Status == metav1.ConditionFalse:
		return fmt.Errorf("its last run failed. See why:\n    yuba why %s", call)
	case t.AwaitsApproval():
		return fmt.Errorf("plan %s waits for approval. Approve or reject it:\n    yuba plan %s", t.Status.Plan.Pending, call)
	}
	return nil
}

// Run implements [rotate.Stacks]: it requests a reconciliation, and waits for the runs that follow.
func (r *stacks) Run(ctx context.Context, name string) error {
	key, request := keyOf(name), session.NewRequest()
	before, err := r.s.Get(ctx, key)
	if err != nil {
		return err
	}
	last := runOf(before)
	if _, err := r.s.Patch(ctx, "reconcile", key, verbs.Reconcile(request)); err != nil {
		return err
	}
	t, err := r.await(ctx, key, request, last)
	var waiting *rotate.WaitingError
	switch {
	case errors.As(err, &waiting):
		return err
	case err != nil && ctx.Err() != nil:
		return &rotate.WaitingError{Message: fmt.Sprintf("%s has not finished in time. See what it does, and continue with the same command:\n    yuba why %s", name, r.s.Call(key))}
	case err != nil:
		return fmt.Errorf("run %s: %w", name, err)
	case t == nil:
		return &rotate.FailedError{Message: "the stack was deleted"}
	}
	return r.result(t, name)
}

// patience is how long a stack may wait before its run begins. Waits for a moment are usual: another run holds
// the lock, or the controller has not seen yet that it is the stack's turn.
const patience = time.Minute

// await waits until the runs of a request have ended, and says what it waits for. A stack whose run does not
// begin is a *rotate.WaitingError.
func (r *stacks) await(ctx context.Context, key types.NamespacedName, request, last string) (*infrav1.Terraform, error) {
	told := ""
	for {
		t, err := r.s.WaitFor(ctx, key, func(t *infrav1.Terraform) bool { return over(t, request, last) || rests(t, request, last) != "" })
		if err != nil || t == nil || over(t, request, last) {
			return t, err
		}
		reason := rests(t, request, last)
		if reason != told {
			r.s.News("%s waits: %s", key, reason)
			told = reason
		}
		within, cancel := context.WithTimeout(ctx, patience)
		t, err = r.s.WaitFor(within, key, func(t *infrav1.Terraform) bool { return rests(t, request, last) == "" })
		ended := within.Err() != nil && ctx.Err() == nil
		cancel()
		switch {
		case err != nil && ended:
			return nil, &rotate.WaitingError{Message: fmt.Sprintf("%s does not run yet: %s\nContinue later with the same command. See more:\n    yuba why %s", key, reason, r.s.Call(key))}
		case err != nil || t == nil:
			return t, err
		}
	}
}

// rests says why no run begins although the stack knows of the request; empty if one runs, has ended, or may
// begin at any moment.
func rests(t *infrav1.Terraform, request, last string) string {
	if t.Status.LastHandledReconcileAt != request || t.Status.CurrentRun != nil || runOf(t) != last || over(t, request, last) {
		return ""
	}
	if paused := session.ConditionOf(t, infrav1.ConditionPaused); paused.Status == metav1.ConditionTrue {
		return paused.Message
	}
	if ready := session.ConditionOf(t, infrav1.ConditionReady); ready.Status != metav1.ConditionTrue {
		return cmp.Or(ready.Message, "it is not ready")
	}
	return ""
}

func runOf(t *infrav1.Terraform) string {
	if t.Status.LastRun == nil {
		return ""
	}
	return t.Status.LastRun.ID
}

// over reports whether the runs of a request have ended, or cannot begin before a person acts.
func over(t *infrav1.Terraform, request, last string) bool {
	ready := session.ConditionOf(t, infrav1.ConditionReady)
	switch {
	case t.Spec.Suspend:
		return true
	case t.Status.LastHandledReconcileAt != request, t.Status.CurrentRun != nil, runOf(t) == last:
		return t.Status.CurrentRun == nil && stalled(t, request)
	}
	return ready.Status != metav1.ConditionUnknown || t.AwaitsApproval()
}

// stalled reports whether the stack's inputs or source are wrong, so that no run begins.
func stalled(t *infrav1.Terraform, request string) bool {
	c := session.ConditionOf(t, infrav1.ConditionStalled)
	return t.Status.LastHandledReconcileAt == request && c.Status == metav1.ConditionTrue
}

func (r *stacks) result(t *infrav1.Terraform, name string) error {
	ready := session.ConditionOf(t, infrav1.ConditionReady)
	call := r.s.Call(keyOf(name))
	switch {
	case t.Spec.Suspend:
		return &rotate.WaitingError{Message: fmt.Sprintf("%s is suspended. Resume it, and continue with the same command:\n    yuba resume %s", name, call)}
	case t.Status.LastRun != nil && session.Failed(t.Status.LastRun):
		return &rotate.FailedError{Message: ready.Message}
	case t.AwaitsApproval():
		return &rotate.WaitingError{Message: fmt.Sprintf("plan %s of %s waits for approval. Approve it, and continue with the same command:\n    yuba approve %s %s", t.Status.Plan.Pending, name, call, t.Status.Plan.Pending)}
	case ready.Status == metav1.ConditionTrue:
		return nil
	}
	return &rotate.FailedError{Message: ready.Message}
}
