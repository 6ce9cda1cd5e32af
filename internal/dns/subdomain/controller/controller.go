// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
)

const (
	// retry is when a server that failed is asked again.
	retry = 10 * time.Second
	// shortest is the shortest interval.
	shortest = 5 * time.Second
	// reservationTTL is how long a name is kept for a pool that does not say so: objects of Go programs have "0s".
	reservationTTL = 10 * time.Minute
	// maxHold bounds the time between what was read and the write that follows from it.
	maxHold = 30 * time.Second
)

// The indexes: pools by Secret, claims by pool and by stack, each as NAMESPACE/NAME.
const (
	indexSecret = "yuba.subdomainpools.secret"
	indexPool   = "yuba.subdomainclaims.pool"
	indexStack  = "yuba.subdomainclaims.stack"
)

// Reconciler keeps pools and claims.
type Reconciler struct {
	// Client reads the cache and writes status. Direct reads Secrets, and what must be fresh, from the API itself.
	Client client.Client
	Direct client.Reader
	Events events.EventRecorder
	Now    func() time.Time
	Log    *slog.Logger

	// writing has a lock for each server, by URL.
	writing sync.Map
	// process tells the bids of this process from those of others.
	process string
	// left is what this process has still to remove from servers.
	left leftovers
}

// SetupWithManager starts the controllers.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	r.process = rand.Text()
	if err := r.index(ctx, mgr.GetFieldIndexer()); err != nil {
		return fmt.Errorf("index subdomains: %w", err)
	}
	secrets := &metav1.PartialObjectMetadata{}
	secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	find := func(list client.ObjectList, index string) handler.EventHandler {
		return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
			return reconciling.Find(ctx, r.Client, r.Log, list.DeepCopyObject().(client.ObjectList), index, o.GetNamespace()+"/"+o.GetName()) //nolint:forcetypeassert // a copy of a list
		})
	}
	poolOf := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: poolKey(o.(*yubav1.SubdomainClaim))}} //nolint:forcetypeassert // of the kind that is watched
	})
	err := ctrl.NewControllerManagedBy(mgr).Named("subdomainpool").
		For(&yubav1.SubdomainPool{}, builder.WithPredicates(reconciling.Triggers())).
		WatchesMetadata(secrets, find(&yubav1.SubdomainPoolList{}, indexSecret)).
		Watches(&yubav1.SubdomainClaim{}, poolOf, builder.WithPredicates(comesOrGoes())).
		WithOptions(reconciling.Options(2)).Complete(reconcile.Func(r.reconcilePool))
	if err != nil {
		return fmt.Errorf("set up the controller of SubdomainPools: %w", err)
	}
	err = ctrl.NewControllerManagedBy(mgr).Named("subdomainclaim").
		For(&yubav1.SubdomainClaim{}, builder.WithPredicates(reconciling.Triggers())).
		Watches(&yubav1.SubdomainPool{}, find(&yubav1.SubdomainClaimList{}, indexPool), builder.WithPredicates(reconciling.Triggers(becomesReady()))).
		Watches(&infrav1.Terraform{}, find(&yubav1.SubdomainClaimList{}, indexStack), builder.WithPredicates(changesOutputs())).
		WithOptions(reconciling.Options(4)).Complete(reconcile.Func(r.reconcileClaim))
	if err != nil {
		return fmt.Errorf("set up the controller of SubdomainClaims: %w", err)
	}
	return nil
}

func (r *Reconciler) index(ctx context.Context, indexer client.FieldIndexer) error {
	if err := indexer.IndexField(ctx, &yubav1.SubdomainPool{}, indexSecret, func(o client.Object) []string {
		p := o.(*yubav1.SubdomainPool) //nolint:forcetypeassert // of the kind that is indexed
		if p.Spec.PowerDNS == nil {
			return nil
		}
		return []string{p.Namespace + "/" + p.Spec.PowerDNS.SecretRef.Name}
	}); err != nil {
		return err
	}
	if err := indexer.IndexField(ctx, &yubav1.SubdomainClaim{}, indexPool, func(o client.Object) []string {
		return []string{poolKey(o.(*yubav1.SubdomainClaim)).String()} //nolint:forcetypeassert // of the kind that is indexed
	}); err != nil {
		return err
	}
	return indexer.IndexField(ctx, &yubav1.SubdomainClaim{}, indexStack, func(o client.Object) []string {
		c := o.(*yubav1.SubdomainClaim) //nolint:forcetypeassert // of the kind that is indexed
		if c.Spec.AddressesFrom == nil {
			return nil
		}
		return []string{c.Namespace + "/" + c.Spec.AddressesFrom.Stack}
	})
}

// lock waits until nobody else of this process writes to a server, and returns what ends it.
func (r *Reconciler) lock(url string) (unlock func()) {
	lock, _ := r.writing.LoadOrStore(url, &sync.Mutex{})
	mutex := lock.(*sync.Mutex) //nolint:forcetypeassert // nothing else is stored
	mutex.Lock()
	return mutex.Unlock
}
