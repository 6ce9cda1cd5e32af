// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/objects/engine"
	"github.com/yuba-dev/yuba/internal/objects/owned"
	"github.com/yuba-dev/yuba/internal/tenants/ownerlabels"
	"github.com/yuba-dev/yuba/internal/tenants/passes"
	"github.com/yuba-dev/yuba/internal/tenants/targets"
)

const (
	// workers is how many tenants are reconciled at a time. A pass waits for requests, never for
	// readiness.
	workers = 8
	// maxAway is how many of these passes send requests to targets at a time.
	maxAway = workers / 2
	// concurrency is how many requests of one tenant are in flight at a time.
	concurrency = 8
)

// Controller reconciles Tenants: it writes their objects.
type Controller struct {
	*passes.API
	// Clusters have the objects of tenants.
	Clusters *targets.Clusters
	// KindsChanged is called when an API may serve other kinds.
	KindsChanged func()

	queue    passes.Queue
	observe  Observer
	engine   *engine.Engine
	memories *memories
	sights   *sights
	// readers has the tenants that read an object of our API, their own or not; lacking has those
	// that need a kind of an API group.
	readers *interests[owned.ID]
	lacking *interests[string]
}

// New makes the controller, with access to the API; observe may be nil.
func New(ctx context.Context, mgr ctrl.Manager, api *passes.API, observe Observer) (*Controller, error) {
	if observe == nil {
		observe = silent{}
	}
	r := &Controller{API: api, KindsChanged: func() {}, observe: observe, memories: newMemories(), sights: newSights(),
		readers: newInterests[owned.ID](), lacking: newInterests[string]()}
	r.engine = engine.New(engine.Policy{Kind: tenantv1.TenantKind, Manager: tenantv1.FieldManager}, r, nil)
	var err error
	r.Clusters, err = targets.New(ctx, mgr, api, maxAway, targets.Hooks{Owners: r.concerned, Changed: r.noticed, Moved: r.moved, Defined: r.defined})
	return r, err
}

// Setup starts the controller with the manager.
func (r *Controller) Setup(ctx context.Context, mgr ctrl.Manager) error {
	err := passes.Index(ctx, mgr, &tenantv1.Tenant{}, passes.IndexReferences, func(o client.Object) []string {
		return passes.KubeConfigReferences(o.GetNamespace(), o.(*tenantv1.Tenant).Spec.KubeConfig)
	})
	if err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).Named("tenant").
		For(&tenantv1.Tenant{}, builder.WithPredicates(reconciling.Triggers(predicate.LabelChangedPredicate{}))).
		Watches(&tenantv1.TenantRegistry{}, r.found(passes.IndexRegistry, ""), builder.WithPredicates(passes.CreatedOrDeleted())).
		WatchesMetadata(&corev1.Secret{}, r.found(passes.IndexReferences, "Secret/")).
		WatchesRawSource(r.queue.Source()).
		WithOptions(reconciling.Options(workers)).Complete(r)
}

// found requests passes over the tenants that an index finds by the name of an object.
func (r *Controller) found(index, prefix string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		return r.Find(ctx, &tenantv1.TenantList{}, index, prefix+o.GetNamespace()+"/"+o.GetName())
	})
}

// Exists implements engine.Owners: it is true unless the tenant certainly does not exist.
func (r *Controller) Exists(owner owned.Owner) bool {
	return !apierrors.IsNotFound(r.Cached.Get(r.Base, owner, &tenantv1.Tenant{}))
}

// Freed implements engine.Owners: it requests passes over the waiting tenants.
func (r *Controller) Freed(owners []owned.Owner) {
	for _, owner := range owners {
		r.queue.Add(owner, 0)
	}
}

// concerned are the tenants that have an object, and, at home, those that read it.
func (r *Controller) concerned(cluster string, id owned.ID, o metav1.Object) []owned.Owner {
	if cluster != "" {
		return ownerlabels.OwnersOf(o)
	}
	return append(ownerlabels.OwnersOf(o), r.readers.in(id)...)
}

// noticed requests a pass when an object has changed in a relevant way.
func (r *Controller) noticed(cluster string, owner owned.Owner, id owned.ID, now *metav1.PartialObjectMetadata) {
	before, known := r.sights.of(owner, place{cluster, id})
	if !known && now != nil && ownerlabels.Stray(now, owner, r.Clusters.Seal(cluster)) {
		r.memories.stray(owner, place{cluster, id})
	}
	if known && now != nil {
		// The watch reports a pass's own write.
		if owned.Older(now.ResourceVersion, before.print.Version) {
			return
		}
		readiness, looked := r.Clusters.Readiness(cluster, owner, id)
		if before.print.Same(owned.PrintOf(now)) && (!looked || readiness == before.ready) {
			return
		}
	}
	r.queue.Add(owner, 0)
}

// moved drops everything about a cluster name that may now mean another cluster.
func (r *Controller) moved(cluster string, owner owned.Owner) {
	if m := r.memories.read(owner); m != nil {
		m.leave(cluster)
	}
	r.sights.leave(owner, cluster)
}

// defined wakes the tenants that lack a kind of a group.
func (r *Controller) defined(group string) {
	r.Freed(r.lacking.in(group))
	r.KindsChanged()
}

// forget drops a deleted tenant.
func (r *Controller) forget(owner owned.Owner) {
	r.Clusters.Forget(owner)
	r.Freed(r.Clusters.Turns.Yield(owner))
	r.Clusters.Home.Watch.Keep(owner, nil)
	r.drop(owner)
	r.engine.Forget(owner)
}

// drop drops the memory of a tenant.
func (r *Controller) drop(owner owned.Owner) {
	r.memories.forget(owner)
	r.sights.set(owner, nil)
	r.readers.set(owner, nil)
	r.lacking.set(owner, nil)
}
