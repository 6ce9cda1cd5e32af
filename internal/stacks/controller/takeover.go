// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/scope"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// gatherTakeover finds out whether the state is a deleted stack's. It confirms hits of the cache
// with the API. After a canceled run it always asks the API, or runs would repeat until the watch
// catches up.
func (a stateAccess) gatherTakeover(ctx context.Context, p *gathered) error {
	readers := []client.Reader{a.readsStacks(), a.reader}
	if p.over != nil && p.over.Result.Outcome == run.OutcomeCanceled {
		readers = readers[1:]
	}
	for _, reader := range readers {
		secret, err := stateMetadata(ctx, reader, p.obj)
		if err != nil {
			return err
		}
		if secret == nil {
			p.takeover = nil
			break
		}
		if p.takeover, err = a.takeover(ctx, p.obj, state.OwnershipOf(secret)); err != nil {
			return err
		}
		if p.takeover == nil {
			break
		}
	}
	if t := p.takeover; t != nil {
		p.facts.Takeover = &decide.Takeover{From: p.obj.Namespace + "/" + t.Name}
		if t.DeletedAt != nil {
			p.facts.Takeover.Deleted = t.DeletedAt.Time
		}
	}
	return nil
}

// stateMetadata reads the metadata of the stack's state Secret; nil if there is none.
func stateMetadata(ctx context.Context, reader client.Reader, obj *infrav1.Terraform) (*metav1.PartialObjectMetadata, error) {
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	name := types.NamespacedName{Namespace: obj.Namespace, Name: obj.StateSecretName()}
	if err := reader.Get(ctx, name, secret); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil, nil
		}
		return nil, fmt.Errorf("find the owner of the state in Secret %s: %w", name, err)
	}
	return secret, nil
}

// takeover returns the deleted stack whose resources the state holds. It returns nil if the state
// is the stack's own, without an owner, shared with an existing stack, adopted, or of the same
// tenant's same stack.
func (a stateAccess) takeover(ctx context.Context, obj *infrav1.Terraform, o state.Ownership) (*infrav1.StateTakeover, error) {
	if len(o.Owners) == 0 || o.Has(string(obj.UID)) {
		return nil, nil
	}
	former := o.Owners[len(o.Owners)-1]
	if adopts(obj, o) || o.Scope != "" && o.Scope == scope.Of(obj.Labels) && former.Name == obj.Name {
		return nil, nil
	}
	var sharing infrav1.TerraformList
	if err := a.readsStacks().List(ctx, &sharing, client.InNamespace(obj.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("find the stacks that use the state of %s/%s: %w", obj.Namespace, former.Name, err)
	}
	for i := range sharing.Items {
		other := &sharing.Items[i]
		if o.Has(string(other.UID)) && !other.KeepsOwnState() && other.StateSecretName() == obj.StateSecretName() {
			return nil, nil
		}
	}
	t := &infrav1.StateTakeover{Name: former.Name, UID: former.UID}
	if !o.Deleted.IsZero() {
		at := metav1.NewTime(o.Deleted)
		t.DeletedAt = &at
	}
	return t, nil
}

// adopts reports whether a person let the stack adopt the state of this deleted stack, or any.
func adopts(obj *infrav1.Terraform, o state.Ownership) bool {
	said := obj.Annotations[infrav1.AnnotationAdoptState]
	return said == infrav1.AdoptAnyState || said != "" && o.Has(said)
}

// settleTakeover claims the state once a plan of all of it has found no changes.
func (a stateAccess) settleTakeover(ctx context.Context, p *gathered) error {
	if p.takeover == nil || p.over == nil || !foundNothing(*p.over) {
		return nil
	}
	if err := a.states.Claim(ctx, stateKeyOf(p.obj)); err != nil {
		return err
	}
	p.takeover, p.facts.Takeover = nil, nil
	return nil
}

// describeTakeover reports whose state the stack took over, and sends one event.
func describeTakeover(p *gathered) {
	if p.takeover != nil && p.obj.Status.TakenOver == nil {
		p.notes = append(p.notes, note{warning: true, reason: infrav1.ReasonStateTakenOver, action: "TakeOver",
			message: fmt.Sprintf("Took over %s. Plans that change it wait for approval", p.facts.Takeover)})
	}
	p.obj.Status.TakenOver = p.takeover
}

// leaveState records in the state that its stack is deleted, or that it is empty. Missing
// permission does not block the deletion.
func (a stateAccess) leaveState(ctx context.Context, p *gathered) error {
	if p.obj.KeepsOwnState() || p.noState != nil {
		return nil
	}
	err := a.states.Leave(ctx, stateKeyOf(p.obj), p.now, emptied(p))
	if apierrors.IsForbidden(err) {
		a.log.Warn("cannot record in the state that its stack is deleted", "stack", p.stack.String(), "error", err)
		return nil
	}
	return err
}

// emptied reports whether everything in the state was destroyed.
func emptied(p *gathered) bool {
	last := p.facts.Last
	deleted := last != nil && last.Purpose == decide.PurposeDelete && !last.Failed && !last.Interrupted && !last.Canceled && !last.OnlyPlanned
	destroyed := p.obj.Spec.Destroy && conditions.Of(p.obj, infrav1.ConditionReady).Status == metav1.ConditionTrue
	return (deleted || destroyed) && len(p.obj.Spec.Targets) == 0
}

// foundNothing reports whether a run refreshed the whole stack and found no changes.
func foundNothing(rec run.Record) bool {
	result, spec := rec.Result, rec.Spec
	return result.Outcome == run.OutcomeSucceeded && result.Plan != nil && !result.Plan.Changes && !result.Applied && !spec.Operation.ByHand() &&
		spec.Backend.Kind == run.BackendManaged && len(spec.Targets) == 0
}

// takeoverObjection says why a run must not apply to its state; empty if it may.
func (a stateAccess) takeoverObjection(ctx context.Context, obj *infrav1.Terraform, rec run.Record) (string, error) {
	if rec.Spec.Operation.ByHand() || rec.Spec.Backend.Kind != run.BackendManaged {
		return "", nil
	}
	if plan := rec.Spec.Plan; plan != nil && (obj.Spec.ApprovePlan == plan.ID || approvedByName(obj) == plan.ID) {
		return "", nil
	}
	o := state.Ownership{Scope: rec.StateOwners.Scope}
	for _, owner := range rec.StateOwners.Stacks {
		o.Owners = append(o.Owners, state.Owner(owner))
	}
	t, err := a.takeover(ctx, obj, o)
	if t == nil || err != nil {
		return "", err
	}
	return fmt.Sprintf("the state belonged to %s/%s, which was deleted, and no plan on it was approved", obj.Namespace, t.Name), nil
}
