// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/build"
	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/decide"
	"github.com/yuba-dev/yuba/internal/kit/fresh"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/objects/engine"
)

// Archives is the part of the blob store that the controller needs.
type Archives interface {
	OpenArtifact(ctx context.Context, digest string) (io.ReadCloser, error)
	HasArtifact(ctx context.Context, digest string) (bool, error)
}

// Builder builds objects from a tree.
type Builder func(ctx context.Context, in build.Input) (*build.Result, error)

// Reconciler reconciles Kustomizations.
type Reconciler struct {
	// Client reads from the cache and writes; Reader reads from the API.
	Client client.Client
	Reader client.Reader
	Events events.EventRecorder
	// Config is the server's own access to its API, with all rights.
	Config   *rest.Config
	Archives Archives
	Limits   archive.Limits
	Build    Builder
	// Scratch is a directory for temporary trees; empty means the system's.
	Scratch string
	// DefaultServiceAccount is for Kustomizations that name none; empty means all rights.
	DefaultServiceAccount string
	// AllowCrossNamespace lets sourceRef and dependsOn name other namespaces.
	AllowCrossNamespace bool
	// Observe receives each completed attempt; may be nil. It must not block.
	Observe func(Attempt)
	Now     func() time.Time
	Log     *slog.Logger

	book     *book
	engine   *engine.Engine
	clusters *ways
	trees    trees
	// cached reads only from the cache, including metadata of ConfigMaps and Secrets; fresh also
	// from the API if the cache lacks our last write.
	cached client.Reader
	fresh  *fresh.Reader
	// queue is the controller's queue; nil before the start.
	queue atomic.Pointer[workqueue.TypedRateLimitingInterface[reconcile.Request]]
}

// pass is one call of Reconcile.
type pass struct {
	obj *kustomizev1.Kustomization
	// before is the object in the API, first that at the beginning of the pass.
	before, first *kustomizev1.Kustomization
	owner         engine.Owner
	now           time.Time
	facts         decide.Facts
	artifact      artifact
	memory        *memory
	// asked is true if the pass requested its turn to use a remote cluster.
	asked bool
}

// Reconcile reconciles a Kustomization.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	p := &pass{owner: req.NamespacedName, now: r.Now()}
	defer func() {
		if !p.asked {
			// A pass that does not need its turn gives it to others.
			r.wake(r.clusters.turns.Yield(p.owner))
		}
	}()
	obj := &kustomizev1.Kustomization{}
	err := r.fresh.Get(ctx, req.NamespacedName, obj)
	if apierrors.IsNotFound(err) {
		r.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("read Kustomization %s: %w", p.owner, err)
	}
	p.obj, p.before, p.first = obj, obj.DeepCopy(), obj.DeepCopy()
	if m := r.book.read(p.owner); m != nil && m.uid == obj.UID {
		p.memory = m
	} else if m != nil {
		r.forget(p.owner)
	}
	// 1. Without the finalizer, a deleted Kustomization would leave its objects.
	if err := r.ensureFinalizer(ctx, p); err != nil {
		return reconciling.Again(client.IgnoreNotFound(err))
	}
	// 2. Gather and decide.
	if err := r.gather(ctx, p); err != nil {
		return ctrl.Result{}, err
	}
	d := decide.Decide(p.facts)
	r.Log.Debug("decided", "kustomization", p.owner.String(), "decision", d.String())
	// 3. Act.
	next := d.NextCheck
	switch d.Verb {
	case decide.VerbDelete:
		return r.finalize(ctx, p)
	case decide.VerbWait, decide.VerbFail:
		r.book.invalidate(p.owner)
		describe(p.obj, d)
		answerRequest(p.obj)
	case decide.VerbApply:
		began := time.Now()
		next, err = r.attempt(ctx, p, d)
		r.tellAttempt(p, began, err)
	case decide.VerbCheckHealth:
		next, err = r.recheck(ctx, p)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	// 4. Record.
	if err := r.patchStatus(ctx, p); err != nil {
		// Repeat the attempt, or its result would never be written.
		r.book.invalidate(p.owner)
		return ctrl.Result{}, err
	}
	r.announceChange(p)
	if next.IsZero() {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{RequeueAfter: max(next.Sub(r.Now()), time.Millisecond)}, nil
}

func (r *Reconciler) ensureFinalizer(ctx context.Context, p *pass) error {
	if !p.obj.DeletionTimestamp.IsZero() || slices.Contains(p.obj.Finalizers, kustomizev1.KustomizationFinalizer) {
		return nil
	}
	return r.setFinalizers(ctx, p, append(slices.Clone(p.obj.Finalizers), kustomizev1.KustomizationFinalizer))
}

func (r *Reconciler) setFinalizers(ctx context.Context, p *pass, finalizers []string) error {
	if err := reconciling.SetFinalizers(ctx, r.Client, p.obj, p.before, finalizers); err != nil {
		return err
	}
	r.fresh.Wrote(p.before)
	return nil
}

// patchStatus writes the status when it differs.
func (r *Reconciler) patchStatus(ctx context.Context, p *pass) error {
	if equality.Semantic.DeepEqual(p.obj.Status, p.before.Status) {
		return nil
	}
	if err := reconciling.PatchStatus(ctx, r.Client, p.before, p.obj); err != nil {
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return nil // it is gone, or a new object has its name
		}
		return fmt.Errorf("write the status of Kustomization %s: %w", p.owner, err)
	}
	r.fresh.Wrote(p.obj)
	p.before = p.obj.DeepCopy()
	return nil
}

// answerRequest records the handled request for a reconciliation.
func answerRequest(obj *kustomizev1.Kustomization) {
	if v, ok := meta.ReconcileAnnotationValue(obj.GetAnnotations()); ok {
		obj.Status.LastHandledReconcileAt = v
	}
}

// forget drops the memory of a deleted Kustomization.
func (r *Reconciler) forget(owner engine.Owner) {
	r.book.forget(owner)
	r.engine.Forget(owner)
	r.clusters.watch.Keep(owner, nil)
}
