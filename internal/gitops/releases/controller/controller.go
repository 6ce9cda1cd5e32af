// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/yuba-dev/yuba/internal/gitops/releases/decide"
	"github.com/yuba-dev/yuba/internal/gitops/releases/session"
	"github.com/yuba-dev/yuba/internal/kit/fresh"
	"github.com/yuba-dev/yuba/internal/kit/limiter"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
)

// Archives is the part of the blob store that the controller needs.
type Archives interface {
	OpenArtifact(ctx context.Context, digest string) (io.ReadCloser, error)
}

// Reconciler reconciles HelmReleases.
type Reconciler struct {
	// Client reads from the cache and writes; Reader reads from the API.
	Client client.Client
	Reader client.Reader
	Events events.EventRecorder
	// Config is the server's own access to its API, with all rights.
	Config   *rest.Config
	Archives Archives
	// Programs finds yuba-helm and yuba-sandbox.
	Programs session.Finder
	// DefaultServiceAccount is for HelmReleases that name none; empty means that they must.
	DefaultServiceAccount string
	// AllowCrossNamespace lets sourceRef, chartRef and dependsOn name other namespaces.
	AllowCrossNamespace bool
	// MaxProcessor limits the CPU time of each of Helm's operations; 0 for the usual.
	MaxProcessor time.Duration
	Now          func() time.Time
	Log          *slog.Logger

	ctx      context.Context
	cached   client.Reader
	fresh    *fresh.Reader
	memories memories
	// ended wakes the workers when an attempt ends.
	ended  chan event.GenericEvent
	places *limiter.Limiter
}

// pass is one call of Reconcile.
type pass struct {
	name types.NamespacedName
	obj  *helmv2.HelmRelease
	// before is the object in the API.
	before *helmv2.HelmRelease
	facts  decide.Facts
	chart  artifact
}

// Reconcile reconciles a HelmRelease.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	p := &pass{name: req.NamespacedName, obj: &helmv2.HelmRelease{}}
	err := r.fresh.Get(ctx, req.NamespacedName, p.obj)
	if apierrors.IsNotFound(err) {
		r.memories.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("read HelmRelease %s: %w", p.name, err)
	}
	before := p.obj.DeepCopy()
	p.before = before
	// 1. Without the finalizer, a deleted HelmRelease would leave its release.
	if err := r.ensureFinalizer(ctx, p.obj, before); err != nil {
		return reconciling.Again(client.IgnoreNotFound(err))
	}
	// 2. Gather and decide.
	if err := r.gather(ctx, p); err != nil {
		return reconciling.Again(err)
	}
	d := decide.When(p.facts)
	r.Log.Debug("decided", "helmrelease", p.name.String(), "decision", d.String())
	// 3. Act.
	switch d.Verb {
	case decide.Attempt:
		if r.asLeft(ctx, p) {
			r.memories.rest(p.name, p.obj.UID, r.Now())
			return ctrl.Result{RequeueAfter: p.obj.Spec.Interval.Duration}, nil
		}
		r.begin(p, false, r.attempt)
	case decide.Delete:
		if !slices.Contains(p.obj.Finalizers, helmv2.HelmReleaseFinalizer) {
			return ctrl.Result{}, nil
		}
		if !uninstalls(p.obj) {
			return reconciling.Again(client.IgnoreNotFound(r.release(ctx, p.obj)))
		}
		r.begin(p, true, r.remove)
	case decide.Cancel:
		r.memories.cancel(p.name)
	case decide.Wait, decide.Fail:
		r.memories.unknown(p.name, p.obj.UID)
		describe(p.obj, d)
		return ctrl.Result{}, r.writeAndTell(ctx, p.obj, before)
	}
	if d.NextCheck.IsZero() {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{RequeueAfter: max(d.NextCheck.Sub(r.Now()), time.Millisecond)}, nil
}

// begin runs an attempt without blocking a worker, and wakes one at the end.
func (r *Reconciler) begin(p *pass, removing bool, attempt func(ctx context.Context, p *pass) outcome) {
	ctx, cancel := context.WithCancelCause(r.ctx)
	p.obj, p.before = p.obj.DeepCopy(), p.before.DeepCopy()
	r.memories.begin(p.name, p.obj.UID, removing, cancel)
	go func() {
		defer cancel(nil)
		out := outcome{failed: true}
		leave, err := r.places.Take(ctx, "")
		if err == nil {
			out = attempt(ctx, p)
			leave()
		}
		out.key, out.ended, out.removal = p.facts.Key, r.Now(), removing
		if r.ctx.Err() != nil {
			return // the server is stopping
		}
		r.memories.end(p.name, p.obj.UID, out)
		o := &helmv2.HelmRelease{}
		o.Namespace, o.Name = p.name.Namespace, p.name.Name
		select {
		case r.ended <- event.GenericEvent{Object: o}:
		case <-r.ctx.Done():
		}
	}()
}

func (r *Reconciler) ensureFinalizer(ctx context.Context, obj, before *helmv2.HelmRelease) error {
	if !obj.DeletionTimestamp.IsZero() || slices.Contains(obj.Finalizers, helmv2.HelmReleaseFinalizer) {
		return nil
	}
	if err := reconciling.SetFinalizers(ctx, r.Client, obj, before, append(slices.Clone(obj.Finalizers), helmv2.HelmReleaseFinalizer)); err != nil {
		return err
	}
	r.fresh.Wrote(before)
	return nil
}

// release removes the finalizer.
func (r *Reconciler) release(ctx context.Context, obj *helmv2.HelmRelease) error {
	return reconciling.Release(ctx, r.Client, obj, helmv2.HelmReleaseFinalizer)
}

// write writes a changed status. The API's answer is the new base.
func (r *Reconciler) write(ctx context.Context, obj, before *helmv2.HelmRelease) error {
	if equality.Semantic.DeepEqual(obj.Status, before.Status) {
		return nil
	}
	if err := reconciling.PatchStatus(ctx, r.Client, before, obj); err != nil {
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return nil // it is gone, or a new object has its name
		}
		return fmt.Errorf("write the status of HelmRelease %s/%s: %w", obj.Namespace, obj.Name, err)
	}
	r.fresh.Wrote(obj)
	obj.DeepCopyInto(before)
	return nil
}

func (r *Reconciler) writeAndTell(ctx context.Context, obj, before *helmv2.HelmRelease) error {
	first := before.DeepCopy()
	err := r.write(ctx, obj, before)
	if err == nil {
		r.announce(obj, first)
	}
	return err
}
