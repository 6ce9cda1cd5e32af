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

// reconciler keeps the artifacts of one kind of source.
type reconciler struct {
	*Sources
	kind     *kind
	memories memories
	// ended wakes the workers when a look ends.
	ended chan event.GenericEvent
}

// showProgressAfter is how long a look may take before the object tells that there is one: most are over by then.
const showProgressAfter = time.Second

// Reconcile makes one pass over a source.
func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	// 1. Gather.
	o, err := r.read(ctx, req.NamespacedName)
	if apierrors.IsNotFound(err) {
		r.memories.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("read %s %s: %w", r.kind.name, req.NamespacedName, err)
	}
	if !o.GetDeletionTimestamp().IsZero() {
		return ctrl.Result{}, reconciling.Release(ctx, r.Client, o, sourcev1.SourceFinalizer)
	}
	// 2. Record what was found since the last pass.
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

// read takes the object from the cache, unless that has not heard yet of what was written last.
func (r *reconciler) read(ctx context.Context, name types.NamespacedName) (Object, error) {
	o := r.kind.new()
	if err := r.Cache.Get(ctx, name, o); err != nil {
		return nil, err
	}
	if !r.memories.wroteAfter(name, o.GetResourceVersion()) {
		return o, nil
	}
	o = r.kind.new()
	return o, r.Reader.Get(ctx, name, o)
}

// lookAside looks without a worker and wakes one when that is done.
func (r *reconciler) lookAside(o Object, fresh bool) {
	began := time.Now()
	out := r.look(r.ctx, r.kind, o, fresh)
	if r.ctx.Err() != nil {
		return // the server ends: what failed now says nothing about the upstream
	}
	if r.Observe != nil {
		r.Observe(observed(r.kind, o, out, began))
	}
	name := client.ObjectKeyFromObject(o)
	r.memories.having(name, o.GetUID(), func(m *memory) { m.end(out) })
	if out.made != nil && out.found.Upstream != "" && r.kind.spreads {
		r.tell(out.found.Upstream, name)
	}
	r.wake(name)
}

// tell makes the sources of an upstream, but one, look at once.
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

// record writes what a look came to, if that was not done yet. What was found for an older generation is of no use: the
// decision will be to look again.
func (r *reconciler) record(ctx context.Context, o Object) error {
	name := client.ObjectKeyFromObject(o)
	var out *outcome
	r.memories.having(name, o.GetUID(), func(m *memory) { out = m.outcome })
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
	r.memories.having(name, o.GetUID(), func(m *memory) {
		if m.outcome == out {
			m.outcome = nil
		}
	})
	return nil
}

// patch writes the status when it differs, on the very version it was made of.
func (r *reconciler) patch(ctx context.Context, o, before Object) error {
	if equality.Semantic.DeepEqual(o, before) {
		return nil
	}
	// What the API answers replaces the object, without its kind.
	patched := o.DeepCopyObject().(Object)
	err := r.Client.Status().Patch(ctx, patched, reconciling.ChangeOf(before))
	name := client.ObjectKeyFromObject(o)
	if err != nil {
		// Somebody else wrote: the next pass must not believe a cache that has not heard of it.
		if apierrors.IsConflict(err) {
			r.memories.having(name, o.GetUID(), func(m *memory) { m.wrote = unknownVersion })
		}
		return fmt.Errorf("write the status of %s %s: %w", r.kind.name, name, err)
	}
	o.SetResourceVersion(patched.GetResourceVersion())
	r.memories.having(name, o.GetUID(), func(m *memory) { m.wrote = patched.GetResourceVersion() })
	return nil
}

// unknownVersion is later than any.
const unknownVersion = "18446744073709551615"

// showProgress tells on the object that a look is under way, when it takes long and the object does not say what is now.
func (r *reconciler) showProgress(ctx context.Context, o Object, v view) error {
	var since time.Time
	r.memories.having(client.ObjectKeyFromObject(o), o.GetUID(), func(m *memory) { since = m.began })
	if r.now().Sub(since) < showProgressAfter || *v.artifact != nil && *v.generation == o.GetGeneration() {
		return nil
	}
	before := o.DeepCopyObject().(Object)
	message := "building artifact"
	if *v.generation != o.GetGeneration() {
		message = fmt.Sprintf("processing object: new generation %d -> %d", *v.generation, o.GetGeneration())
	}
	if c := conditions.Of(o, meta.ReconcilingCondition); c.Reason == meta.ProgressingWithRetryReason && c.ObservedGeneration == o.GetGeneration() {
		return nil // it tells why it has no artifact, which is more
	}
	progress(o, message)
	_, err := reconciling.Again(client.IgnoreNotFound(r.patch(ctx, o, before)))
	return err
}
