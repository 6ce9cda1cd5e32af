// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/yuba-dev/yuba/internal/gitops/sources/decide"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
)

// reconciler maintains the artifacts of one kind of source.
type reconciler struct {
	*Sources
	kind     *kind
	memories memories
	// ended wakes the workers when a look ends.
	ended chan event.GenericEvent
}

// showProgressAfter is the duration after which the status shows a look.
const showProgressAfter = time.Second

// Reconcile reconciles a source.
func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	// 1. Gather.
	o := r.kind.new()
	err := r.fresh.Get(ctx, req.NamespacedName, o)
	if apierrors.IsNotFound(err) {
		r.memories.Forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("read %s %s: %w", r.kind.name, req.NamespacedName, err)
	}
	if !o.GetDeletionTimestamp().IsZero() {
		return ctrl.Result{}, reconciling.Release(ctx, r.Client, o, sourcev1.SourceFinalizer)
	}
	if r.kind.idle != nil && r.kind.idle(o) {
		return ctrl.Result{}, nil
	}
	// 2. Record the results since the last pass.
	if err := r.record(ctx, o); err != nil {
		return reconciling.Again(client.IgnoreNotFound(err))
	}
	// 3. Decide.
	var d decide.Decision
	v := r.kind.view(o)
	r.memories.with(req.NamespacedName, o.GetUID(), func(m *memory) {
		if d = decide.When(m.facts(o, v, r.now())); d.Verb == decide.Look {
			m.begin(o, r.now())
		}
	})
	r.Log.Debug("decided", "source", r.kind.name+" "+req.String(), "decision", d.String())
	// 4. Act.
	switch {
	case d.Verb == decide.Look:
		go r.lookAside(o.DeepCopyObject().(Object), d.Fresh)
		return ctrl.Result{RequeueAfter: showProgressAfter}, nil
	case d.Verb == decide.Wait && d.NextCheck.IsZero():
		return ctrl.Result{}, r.showProgress(ctx, o, v)
	case d.Verb == decide.Wait:
		return ctrl.Result{RequeueAfter: max(d.NextCheck.Sub(r.now()), time.Millisecond)}, nil
	}
	return ctrl.Result{}, nil
}

// lookAside runs a look without blocking a worker, and wakes one at the end.
func (r *reconciler) lookAside(o Object, fresh bool) {
	began := time.Now()
	out := r.look(r.ctx, r.kind, o, fresh)
	if r.ctx.Err() != nil {
		return // the server is stopping: failures now say nothing about the upstream
	}
	if r.Observe != nil {
		r.Observe(observed(r.kind, o, out, began))
	}
	name := client.ObjectKeyFromObject(o)
	r.memories.Having(name, o.GetUID(), func(m *memory) { m.end(out) })
	if out.made != nil && out.found.Upstream != "" && r.kind.spreads {
		r.tell(out.found.Upstream, name)
	}
	r.wake(name)
}

// tell starts a look of the other sources of an upstream at once.
func (r *reconciler) tell(upstream string, but types.NamespacedName) {
	for _, name := range r.memories.tell(upstream, but) {
		r.wake(name)
	}
}

func (r *reconciler) wake(name types.NamespacedName) {
	o := r.kind.new()
	o.SetNamespace(name.Namespace)
	o.SetName(name.Name)
	select {
	case r.ended <- event.GenericEvent{Object: o}:
	case <-r.ctx.Done():
	}
}

// record writes the unrecorded result of a look. It ignores results for an older generation: the
// decision will be another look.
func (r *reconciler) record(ctx context.Context, o Object) error {
	name := client.ObjectKeyFromObject(o)
	var out *outcome
	r.memories.Having(name, o.GetUID(), func(m *memory) { out = m.outcome })
	if out == nil {
		return nil
	}
	if out.generation == o.GetGeneration() && !r.kind.view(o).suspended {
		before := o.DeepCopyObject().(Object)
		r.kind.settle(o, out, r.archiveURL(o, out), r.now())
		if err := r.patch(ctx, o, before); err != nil {
			return err
		}
		r.announce(o, before, out)
	}
	r.memories.Having(name, o.GetUID(), func(m *memory) {
		if m.outcome == out {
			m.outcome = nil
		}
	})
	return nil
}

// patch writes a changed status, on the version that it is based on.
func (r *reconciler) patch(ctx context.Context, o, before Object) error {
	if equality.Semantic.DeepEqual(o, before) {
		return nil
	}
	// The API's response replaces the object, without its kind.
	patched := o.DeepCopyObject().(Object)
	if err := r.Client.Status().Patch(ctx, patched, reconciling.ChangeOf(before)); err != nil {
		return fmt.Errorf("write the status of %s %s: %w", r.kind.name, client.ObjectKeyFromObject(o), err)
	}
	o.SetResourceVersion(patched.GetResourceVersion())
	r.fresh.Wrote(o)
	return nil
}

// showProgress shows a slow look in the status, unless the object is already current.
func (r *reconciler) showProgress(ctx context.Context, o Object, v view) error {
	var since time.Time
	r.memories.Having(client.ObjectKeyFromObject(o), o.GetUID(), func(m *memory) { since = m.began })
	if r.now().Sub(since) < showProgressAfter || *v.artifact != nil && *v.generation == o.GetGeneration() {
		return nil
	}
	before := o.DeepCopyObject().(Object)
	message := "building artifact"
	if *v.generation != o.GetGeneration() {
		message = fmt.Sprintf("processing object: new generation %d -> %d", *v.generation, o.GetGeneration())
	}
	if c := conditions.Of(o, meta.ReconcilingCondition); c.Reason == meta.ProgressingWithRetryReason && c.ObservedGeneration == o.GetGeneration() {
		return nil // it says why it has no artifact, which is more useful
	}
	progress(o, message)
	_, err := reconciling.Again(client.IgnoreNotFound(r.patch(ctx, o, before)))
	return err
}
