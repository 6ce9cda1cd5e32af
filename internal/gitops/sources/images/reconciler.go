// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	sources "github.com/yuba-dev/yuba/internal/gitops/sources/decide"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
)

// object is an object of any of the kinds.
type object interface {
	client.Object
	GetConditions() []metav1.Condition
	SetConditions([]metav1.Condition)
}

// view is the common part of an object.
type view struct {
	suspended  bool
	interval   time.Duration
	generation *int64
	handled    *string
}

// purpose is what differs between the kinds.
type purpose struct {
	name, action string
	new          func() object
	list         func() client.ObjectList
	view         func(o object) view
	// failed is the default reason of failures.
	failed string
	// work works for an object, which it does not modify. fresh forbids shared and earlier results.
	work func(ctx context.Context, o object, fresh bool) *outcome
	// ended is called after the work; nil for nothing. forget is called for deleted objects.
	ended  func(o object)
	forget func(name types.NamespacedName)
}

// outcome is the result of work.
type outcome struct {
	// generation and requested are those of the object when the work began.
	generation int64
	requested  string
	ended      time.Time
	// err is why the work failed.
	err error
	// write writes the result to the status, also of failed work; nil for nothing.
	write func(o object)
	// ready is the message of the condition Ready; silent leaves all conditions as they are.
	ready  string
	silent bool
	// said are the events.
	said []said
}

type said struct{ severity, reason, message string }

// reconciler reconciles the objects of one kind.
type reconciler struct {
	*Images
	purpose  *purpose
	memories memories
	// ended wakes the workers when work ends.
	ended chan event.GenericEvent
}

func (i *Images) reconciler(p *purpose) *reconciler {
	return &reconciler{Images: i, purpose: p, ended: make(chan event.GenericEvent)}
}

// showProgressAfter is the duration after which the status shows work.
const showProgressAfter = time.Second

// Reconcile implements reconcile.Reconciler.
func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	// 1. Gather.
	o := r.purpose.new()
	err := r.fresh.Get(ctx, req.NamespacedName, o)
	if apierrors.IsNotFound(err) {
		r.memories.Forget(req.NamespacedName)
		r.purpose.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("read %s %s: %w", r.purpose.name, req.NamespacedName, err)
	}
	// 2. Record the outcome since the last pass.
	if err := r.record(ctx, o); err != nil {
		return reconciling.Again(client.IgnoreNotFound(err))
	}
	// 3. Decide.
	var d sources.Decision
	r.memories.with(req.NamespacedName, o.GetUID(), func(m *memory) {
		if d = sources.When(m.facts(o, r.purpose.view(o), r.now())); d.Verb == sources.Look {
			m.begin(o, r.now())
		}
	})
	r.Log.Debug("decided", "kind", r.purpose.name, "object", req.String(), "decision", d.String())
	// 4. Act.
	switch {
	case d.Verb == sources.Look:
		go r.workAside(o.DeepCopyObject().(object), d.Fresh)
		return ctrl.Result{RequeueAfter: showProgressAfter}, nil
	case d.Verb == sources.Wait && d.NextCheck.IsZero():
		return ctrl.Result{}, r.showProgress(ctx, o)
	case d.Verb == sources.Wait:
		return ctrl.Result{RequeueAfter: max(d.NextCheck.Sub(r.now()), time.Millisecond)}, nil
	}
	return ctrl.Result{}, nil
}

// workAside works without blocking a worker, and wakes one at the end.
func (r *reconciler) workAside(o object, fresh bool) {
	out := r.safely(o, fresh)
	if r.ctx.Err() != nil {
		return // the server is stopping: failures now say nothing
	}
	out.generation, out.requested, out.ended = o.GetGeneration(), requestOf(o), r.now()
	name := client.ObjectKeyFromObject(o)
	r.memories.with(name, o.GetUID(), func(m *memory) { m.end(out) })
	r.wake(name)
	if r.purpose.ended != nil {
		r.purpose.ended(o)
	}
}

// safely works. A panic ends this work, not the server.
func (r *reconciler) safely(o object, fresh bool) (out *outcome) {
	defer func() {
		if p := recover(); p != nil {
			out = &outcome{err: fmt.Errorf("reconcile: panic: %v. This is a bug in Yuba", p)}
		}
	}()
	return r.purpose.work(r.ctx, o, fresh)
}

func (r *reconciler) wake(name types.NamespacedName) {
	o := r.purpose.new()
	o.SetNamespace(name.Namespace)
	o.SetName(name.Name)
	select {
	case r.ended <- event.GenericEvent{Object: o}:
	case <-r.ctx.Done():
	}
}

// tell makes objects work at once.
func (r *reconciler) tell(ctx context.Context, index, key string) {
	for _, request := range reconciling.Find(ctx, r.cache, r.Log, r.purpose.list(), index, key) {
		r.memories.mark(request.NamespacedName)
		r.wake(request.NamespacedName)
	}
}

// record writes an unrecorded outcome. It ignores outcomes for an older generation: the decision will
// be to work again.
func (r *reconciler) record(ctx context.Context, o object) error {
	name := client.ObjectKeyFromObject(o)
	var out *outcome
	r.memories.with(name, o.GetUID(), func(m *memory) { out = m.outcome })
	if out == nil {
		return nil
	}
	if v := r.purpose.view(o); out.generation == o.GetGeneration() && !v.suspended {
		before := o.DeepCopyObject().(object)
		r.settle(o, v, out)
		if err := r.patch(ctx, o, before); err != nil {
			return err
		}
		r.announce(o, before, out)
	}
	r.memories.with(name, o.GetUID(), func(m *memory) {
		if m.outcome == out {
			m.outcome = nil
		}
	})
	return nil
}

// patch writes a changed status, on the version that it is based on.
func (r *reconciler) patch(ctx context.Context, o, before object) error {
	if equality.Semantic.DeepEqual(o, before) {
		return nil
	}
	patched := o.DeepCopyObject().(object)
	if err := r.Client.Status().Patch(ctx, patched, reconciling.ChangeOf(before)); err != nil {
		return fmt.Errorf("write the status of %s %s: %w", r.purpose.name, client.ObjectKeyFromObject(o), err)
	}
	o.SetResourceVersion(patched.GetResourceVersion())
	r.fresh.Wrote(o)
	return nil
}

// showProgress shows slow work for a new or changed object in the status.
func (r *reconciler) showProgress(ctx context.Context, o object) error {
	var since time.Time
	r.memories.with(client.ObjectKeyFromObject(o), o.GetUID(), func(m *memory) { since = m.began })
	if r.now().Sub(since) < showProgressAfter || *r.purpose.view(o).generation == o.GetGeneration() {
		return nil
	}
	before := o.DeepCopyObject().(object)
	progress(o, "reconciliation in progress")
	_, err := reconciling.Again(client.IgnoreNotFound(r.patch(ctx, o, before)))
	return err
}
