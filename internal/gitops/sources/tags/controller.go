// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	sources "github.com/yuba-dev/yuba/internal/gitops/sources/decide"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
)

// showProgressAfter is the duration after which the status shows a look.
const showProgressAfter = time.Second

// Reconcile reconciles a ModuleSource.
func (p *Publisher) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	// 1. Gather.
	o := &yubav1.ModuleSource{}
	err := p.fresh.Get(ctx, req.NamespacedName, o)
	if apierrors.IsNotFound(err) {
		p.memories.Forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("read ModuleSource %s: %w", req.NamespacedName, err)
	}
	// 2. Record the result since the last pass.
	if err := p.record(ctx, o); err != nil {
		return reconciling.Again(client.IgnoreNotFound(err))
	}
	// 3. Decide.
	var d sources.Decision
	var known verdicts
	p.memories.with(req.NamespacedName, o.UID, func(m *memory) {
		if d = sources.When(m.facts(o, p.now())); d.Verb == sources.Look {
			known = m.begin(o, d.Fresh, p.now())
		}
	})
	p.Log.Debug("decided", "moduleSource", req.String(), "decision", d.String())
	// 4. Act.
	switch {
	case d.Verb == sources.Look:
		go p.lookAside(o.DeepCopy(), d.Fresh, known)
		return ctrl.Result{RequeueAfter: showProgressAfter}, nil
	case d.Verb == sources.Wait && d.NextCheck.IsZero():
		return ctrl.Result{}, p.showProgress(ctx, o)
	case d.Verb == sources.Wait:
		return ctrl.Result{RequeueAfter: max(d.NextCheck.Sub(p.now()), time.Millisecond)}, nil
	}
	return ctrl.Result{}, nil
}

// lookAside runs a look without blocking a worker, and wakes one at the end.
func (p *Publisher) lookAside(o *yubav1.ModuleSource, fresh bool, known verdicts) {
	out := p.look(p.ctx, o, fresh, known)
	if p.ctx.Err() != nil {
		return // the server is stopping: failures now say nothing about the repository
	}
	name := client.ObjectKeyFromObject(o)
	p.memories.with(name, o.UID, func(m *memory) { m.end(out) })
	p.wake(name)
}

// GitNews makes all ModuleSources of a repository look at once. It does not block.
func (p *Publisher) GitNews(upstream string) {
	if p.ctx == nil {
		return // not set up
	}
	go func() {
		for _, name := range p.memories.tell(upstream) {
			p.wake(name)
		}
	}()
}

func (p *Publisher) wake(name types.NamespacedName) {
	o := &yubav1.ModuleSource{}
	o.Namespace, o.Name = name.Namespace, name.Name
	select {
	case p.ended <- event.GenericEvent{Object: o}:
	case <-p.ctx.Done():
	}
}

// record writes the unrecorded result of a look. It ignores results for an older generation: the
// decision will be another look.
func (p *Publisher) record(ctx context.Context, o *yubav1.ModuleSource) error {
	name := client.ObjectKeyFromObject(o)
	var out *outcome
	p.memories.with(name, o.UID, func(m *memory) { out = m.outcome })
	if out == nil {
		return nil
	}
	if out.generation == o.Generation && !o.Spec.Suspend {
		before := o.DeepCopy()
		settle(o, out)
		if err := p.patch(ctx, o, before); err != nil {
			return err
		}
		p.announce(o, before, out)
	}
	p.memories.with(name, o.UID, func(m *memory) {
		if m.outcome == out {
			m.outcome = nil
		}
	})
	return nil
}

// patch writes a changed status, on the version that it is based on.
func (p *Publisher) patch(ctx context.Context, o, before *yubav1.ModuleSource) error {
	if equality.Semantic.DeepEqual(o, before) {
		return nil
	}
	// The API's response replaces the object, without its kind.
	patched := o.DeepCopy()
	if err := p.Client.Status().Patch(ctx, patched, reconciling.ChangeOf(before)); err != nil {
		return fmt.Errorf("write the status of ModuleSource %s: %w", client.ObjectKeyFromObject(o), err)
	}
	o.SetResourceVersion(patched.GetResourceVersion())
	p.fresh.Wrote(o)
	return nil
}

// showProgress shows a slow look of a new or changed object in the status.
func (p *Publisher) showProgress(ctx context.Context, o *yubav1.ModuleSource) error {
	var since time.Time
	p.memories.with(client.ObjectKeyFromObject(o), o.UID, func(m *memory) { since = m.began })
	if p.now().Sub(since) < showProgressAfter || o.Status.ObservedGeneration == o.Generation {
		return nil
	}
	before := o.DeepCopy()
	progress(o, "listing and publishing the tags")
	_, err := reconciling.Again(client.IgnoreNotFound(p.patch(ctx, o, before)))
	return err
}
