// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/yuba-dev/yuba/internal/kit/fresh"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/objects/engine"
)

const (
	// indexReferences finds the Kustomizations that read an object: "kind/namespace/name".
	indexReferences = "yuba.kustomization.references"
	// indexDependencies finds the Kustomizations that depend on one: "namespace/name".
	indexDependencies = "yuba.kustomization.dependencies"
)

// workers is the number of concurrent passes, which wait for requests, but never for health.
const workers = 8

// SetupWithManager adds the controller to the manager. The API must serve all kinds of sources.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	if err := r.prepare(ctx, mgr); err != nil {
		return err
	}
	for index, names := range map[string]func(*kustomizev1.Kustomization) []string{indexReferences: referenceNames, indexDependencies: dependencyNames} {
		err := mgr.GetFieldIndexer().IndexField(ctx, &kustomizev1.Kustomization{}, index, func(o client.Object) []string {
			return names(o.(*kustomizev1.Kustomization))
		})
		if err != nil {
			return fmt.Errorf("index Kustomizations: %w", err)
		}
	}
	b := ctrl.NewControllerManagedBy(mgr).Named("kustomization").
		For(&kustomizev1.Kustomization{}, builder.WithPredicates(reconciling.Triggers())).
		Watches(&kustomizev1.Kustomization{}, r.dependants()).
		WatchesMetadata(&corev1.Secret{}, r.readers("Secret")).
		WatchesMetadata(&corev1.ConfigMap{}, r.readers("ConfigMap")).
		WatchesRawSource(source.Func(func(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
			r.queue.Store(&q)
			return nil
		})).
		WithOptions(reconciling.Options(workers))
	for _, kind := range []string{sourcev1.GitRepositoryKind, sourcev1.OCIRepositoryKind, sourcev1.BucketKind, sourcev1.ExternalArtifactKind} {
		b = b.Watches(newSource(kind), r.readers(kind), builder.WithPredicates(newArtifact()))
	}
	return b.Complete(r)
}

// prepare creates what the controller needs besides the manager.
func (r *Reconciler) prepare(ctx context.Context, mgr ctrl.Manager) error {
	r.book, r.cached = newBook(), mgr.GetCache()
	r.fresh = fresh.New(r.cached, r.Reader)
	r.engine = engine.New(policy, owners{r}, owners{r})
	objects, err := metadata.NewForConfig(r.Config)
	if err != nil {
		return fmt.Errorf("create a client for metadata: %w", err)
	}
	r.clusters, err = newWays(r.Config, mgr.GetScheme(), mgr.GetRESTMapper())
	if err != nil {
		return err
	}
	r.clusters.watch = policy.NewWatch(ctx, objects, mgr.GetRESTMapper(), r.noticed)
	return nil
}

// enqueue triggers a pass.
func (r *Reconciler) enqueue(owner engine.Owner) {
	// The controller starts with a pass over each Kustomization anyway.
	if q := r.queue.Load(); q != nil {
		(*q).Add(reconcile.Request{NamespacedName: owner})
	}
}

// noticed triggers a pass after relevant changes of an owned object.
func (r *Reconciler) noticed(owner engine.Owner, id engine.ID, now *metav1.PartialObjectMetadata) {
	m := r.book.read(owner)
	if m == nil {
		return
	}
	o, ours := m.objects[id]
	if ours && r.dirty(id, o) || m.health.concerns(id, now) {
		r.enqueue(owner)
	}
}

// policy has the names of Flux's kustomize-controller, so that each can replace the other.
var policy = engine.Policy{
	Kind: kustomizev1.KustomizationKind, Namespace: "spec.targetNamespace", Manager: "kustomize-controller", Group: kustomizev1.GroupVersion.Group,
}

// owners implements engine.Owners and engine.Inventory for Kustomizations.
type owners struct{ r *Reconciler }

// Exists implements engine.Owners.
func (o owners) Exists(owner engine.Owner) bool {
	obj, err := o.r.fromCache(context.Background(), owner)
	// After an error, assume that it exists, so that it does not lose its objects.
	return obj != nil || err != nil
}

// Counts implements engine.Inventory.
func (o owners) Counts(owner engine.Owner, id engine.ID) bool {
	obj, err := o.r.fromCache(context.Background(), owner)
	if err != nil {
		return true
	}
	if obj == nil || obj.Status.Inventory == nil {
		return false
	}
	name := id.String()
	return slices.ContainsFunc(obj.Status.Inventory.Entries, func(e kustomizev1.ResourceRef) bool { return e.ID == name })
}

// Freed implements engine.Owners.
func (o owners) Freed(list []engine.Owner) {
	for _, owner := range list {
		o.r.book.markFreed(owner)
		o.r.enqueue(owner)
	}
}

// newArtifact matches changes of a source's artifact.
func newArtifact() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		old, okOld := e.ObjectOld.(sourceObject)
		now, okNow := e.ObjectNew.(sourceObject)
		if !okOld || !okNow {
			return true
		}
		a, b := old.GetArtifact(), now.GetArtifact()
		if a == nil || b == nil {
			return a != b
		}
		return a.Digest != b.Digest || a.Revision != b.Revision
	}}
}

func referenceNames(obj *kustomizev1.Kustomization) []string {
	names := []string{obj.Spec.SourceRef.Kind + "/" + sourceName(obj).String()}
	for _, ref := range references(obj) {
		names = append(names, ref.kind+"/"+obj.Namespace+"/"+ref.name)
	}
	return names
}

func dependencyNames(obj *kustomizev1.Kustomization) []string {
	names := make([]string, 0, len(obj.Spec.DependsOn))
	for _, ref := range obj.Spec.DependsOn {
		names = append(names, dependencyOf(obj, ref).String())
	}
	return names
}

// readers enqueues the Kustomizations that read an object of the kind.
func (r *Reconciler) readers(kind string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		return r.find(ctx, indexReferences, kind+"/"+o.GetNamespace()+"/"+o.GetName())
	})
}

// dependants enqueues the Kustomizations that depend on one.
func (r *Reconciler) dependants() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		return r.find(ctx, indexDependencies, o.GetNamespace()+"/"+o.GetName())
	})
}

func (r *Reconciler) find(ctx context.Context, index, key string) []reconcile.Request {
	return reconciling.Find(ctx, r.cached, r.Log, &kustomizev1.KustomizationList{}, index, key)
}
