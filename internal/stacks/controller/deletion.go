// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/kit/scope"
	"github.com/yuba-dev/yuba/internal/outages/circuits"
	"github.com/yuba-dev/yuba/internal/stacks/plans"
)

// letGo removes Yuba's finalizers from a deleted stack. State, versions and records of runs stay,
// to repair mistakes; only the empty state of a tenant's stack is deleted, or these would
// accumulate.
func (r *Reconciler) letGo(ctx context.Context, p *gathered) error {
	before := p.obj.DeepCopy()
	p.obj.Finalizers = slices.DeleteFunc(p.obj.Finalizers, func(f string) bool {
		return f == infrav1.Finalizer || strings.HasPrefix(f, infrav1.DependencyFinalizerPrefix)
	})
	if len(p.obj.Finalizers) == len(before.Finalizers) {
		return nil
	}
	if err := r.deleteOwned(ctx, before); err != nil {
		return err
	}
	if err := stateAccessOf(r).discardState(ctx, p); err != nil {
		return err
	}
	if err := stateAccessOf(r).leaveState(ctx, p); err != nil {
		return err
	}
	if r.Contracts != nil && publishes(before) {
		if err := r.Contracts.Forget(ctx, before); err != nil {
			return err
		}
	}
	if err := r.Client.Patch(ctx, p.obj, reconciling.ChangeOf(before)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("remove the finalizers of %s: %w", p.stack, err))
	}
	if before.Status.Unproven != nil { // reported once it is true: earlier steps are repeated after a conflict
		r.event(p, note{warning: true, reason: infrav1.ReasonApplyCutOff, action: "Delete", message: "The stack is deleted. " + unprovenMessage(before)})
	}
	r.Stacks.Wrote(p.obj)
	r.Runs.Forget(p.stack)
	if r.Circuits != nil {
		r.Circuits.Forget(circuits.Stack(p.stack))
	}
	return nil
}

// tellWhatStays reports that a deletion with spec.targets destroyed only the targets.
func (p *pass) tellWhatStays() {
	if !p.obj.Spec.DestroyResourcesOnDeletion || len(p.obj.Spec.Targets) == 0 || p.obj.Status.LastRun == nil {
		return
	}
	p.notes = append(p.notes, note{reason: infrav1.ReasonDestroyed, action: "Delete", message: fmt.Sprintf(
		"Destroyed spec.targets only: %s. Other resources stay, and so does the state that lists them: %s",
		strings.Join(p.obj.Spec.Targets, ", "), stateOf(p.obj))})
}

// stateOf names the place of the state.
func stateOf(obj *infrav1.Terraform) string {
	if obj.KeepsOwnState() {
		return "the stack's custom backend"
	}
	return "Secret " + obj.StateSecretName()
}

// discardState deletes the destroyed state of a tenant's stack. A missing permission does not block
// the deletion.
func (a stateAccess) discardState(ctx context.Context, p *gathered) error {
	if scope.Of(p.obj.Labels) == "" || !p.obj.Spec.DestroyResourcesOnDeletion || p.obj.KeepsOwnState() || p.noState != nil {
		return nil
	}
	err := a.states.Discard(ctx, stateKeyOf(p.obj))
	if apierrors.IsForbidden(err) {
		a.log.Warn("cannot delete the empty state of a deleted stack", "stack", p.stack.String(), "error", err)
		return nil
	}
	return err
}

// deleteOwned deletes the outputs and plans that the stack owns. Clients that wait for the deletion
// expect both to be gone, but a garbage collector may be late or missing.
func (r *Reconciler) deleteOwned(ctx context.Context, obj *infrav1.Terraform) error {
	var names []string
	if want := obj.Spec.WriteOutputsToSecret; want != nil {
		names = append(names, want.Name)
	}
	if had := obj.Status.OutputsSecret; had != "" && !slices.Contains(names, had) {
		names = append(names, had)
	}
	for _, name := range names {
		if err := outputsWriterOf(r).deleteOutputs(ctx, obj, name); err != nil {
			return err
		}
	}
	return plans.Store{Client: r.Client, Reader: r.Reader}.DropAll(ctx, obj)
}

// deleteOutputs deletes an outputs Secret, if it is the stack's.
func (o outputsWriter) deleteOutputs(ctx context.Context, obj *infrav1.Terraform, secretName string) error {
	secret := &corev1.Secret{}
	name := types.NamespacedName{Namespace: obj.Namespace, Name: secretName}
	if err := o.reader.Get(ctx, name, secret); err != nil {
		return wrapUnlessGone("read the outputs Secret %s: %w", name, err)
	}
	if !metav1.IsControlledBy(secret, obj) {
		return nil
	}
	exactly := client.Preconditions{UID: &secret.UID}
	return wrapUnlessGone("delete the outputs Secret %s: %w", name, o.client.Delete(ctx, secret, exactly))
}

// wrapUnlessGone adds the object to an error, and ignores a missing object.
func wrapUnlessGone(format string, name types.NamespacedName, err error) error {
	if client.IgnoreNotFound(err) == nil {
		return nil
	}
	return fmt.Errorf(format, name, err)
}
