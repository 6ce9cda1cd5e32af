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

// Archives is what the controller needs of the blob store.
type Archives interface {
	OpenArtifact(ctx context.Context, digest string) (io.ReadCloser, error)
	HasArtifact(ctx context.Context, digest string) (bool, error)
}

// Builder makes objects of a tree.
type Builder func(ctx context.Context, in build.Input) (*build.Result, error)

// Reconciler keeps Kustomizations as their objects say.
type Reconciler struct {
	// Client reads from the cache and writes; Reader reads past the cache.
	Client client.Client
	Reader client.Reader
	Events events.EventRecorder
	// Config is the server's own way to its API, with all rights.
	Config   *rest.Config
	Archives Archives
	Limits   archive.Limits
	Build    Builder
	// Scratch is a directory for trees while they are built; empty means the system's.
	Scratch string
	// DefaultServiceAccount is whose rights a Kustomization has that names no service account; empty means all.
	DefaultServiceAccount string
	// AllowCrossNamespace lets sourceRef and dependsOn name other namespaces.
	AllowCrossNamespace bool
	// Observe gets each attempt to apply that ended; nil for nobody. It must not block.
	Observe func(Attempt)
	Now     func() time.Time
	Log     *slog.Logger

	book     *book
	engine   *engine.Engine
	clusters *ways
	trees    trees
	// cached reads only from the cache, including metadata of ConfigMaps and Secrets; fresh also
	// from the API, if the cache lacks this process's last write.
	cached client.Reader
	fresh  *fresh.Reader
	// queue holds the controller's queue once it has started.
	queue atomic.Pointer[workqueue.TypedRateLimitingInterface[reconcile.Request]]
}

// pass is what one call of Reconcile knows.
type pass struct {
	obj *kustomizev1.Kustomization
	// before is the object as it is in the API, first as it was when the pass began.
	before, first *kustomizev1.Kustomization
	owner         engine.Owner
	now           time.Time
	facts         decide.Facts
	artifact      artifact
	memory        *memory
	// asked is true when the pass has asked for its turn to use a remote cluster.
	asked bool
}

// Reconcile makes one pass over a Kustomization.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	p := &pass{owner: req.NamespacedName, now: r.Now()}
	defer func() {
		if !p.asked {
			// A pass that does not need its turn must not keep it from others.
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
	// 1. A Kustomization without the finalizer could vanish and leave its objects behind.
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
		// What the status does not tell has to be found out once more: nothing would write it otherwise.
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
			return nil // It is gone; who comes after it is looked at anew.
		}
		return fmt.Errorf("write the status of Kustomization %s: %w", p.owner, err)
	}
	r.fresh.Wrote(p.obj)
	p.before = p.obj.DeepCopy()
	return nil
}

// answerRequest says that a request to look now was seen.
func answerRequest(obj *kustomizev1.Kustomization) {
	if v, ok := meta.ReconcileAnnotationValue(obj.GetAnnotations()); ok {
		obj.Status.LastHandledReconcileAt = v
	}
}

// forget drops all that is known of a Kustomization that is gone.
func (r *Reconciler) forget(owner engine.Owner) {
	r.book.forget(owner)
	r.engine.Forget(owner)
	r.clusters.watch.Keep(owner, nil)
}
