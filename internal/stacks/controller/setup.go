// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/kit/scope"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/reads"
)

// indexReferences finds the stacks that read an object: "kind/namespace/name".
const indexReferences = "yuba.references"

// workers is how many passes are made at a time. A pass is short: it never waits for a run.
const workers = 8

// SetupWithManager starts the controller with the manager. ended sends the stacks whose runs have
// ended. sourceKinds are the kinds of sources that this API serves.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, ended <-chan run.Stack, sourceKinds []string) error {
	for index, names := range map[string]func(*infrav1.Terraform) []string{
		indexReferences: reads.References, indexDependencies: dependencyNames, indexState: stateLease,
	} {
		err := mgr.GetFieldIndexer().IndexField(ctx, &infrav1.Terraform{}, index, func(o client.Object) []string {
			return names(o.(*infrav1.Terraform))
		})
		if err != nil {
			return err
		}
	}
	r.stacks, r.applying = mgr.GetCache(), make(chan run.Stack, 64)
	r.Source.Seen, r.Source.Watched = r.stacks, sourceKinds
	b := ctrl.NewControllerManagedBy(mgr).Named("stack").
		For(&infrav1.Terraform{}, builder.WithPredicates(reconciling.Triggers(otherScope, otherApprovals))).
		Watches(&infrav1.Terraform{}, relativesOf(r).relations()).
		Watches(&coordinationv1.Lease{}, relativesOf(r).released()).
		WatchesRawSource(enqueued(ended)).
		WatchesRawSource(enqueued(r.health.Ended())).
		WatchesRawSource(enqueued(r.applying)).
		WatchesMetadata(&corev1.Secret{}, r.readers("Secret")).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), &infrav1.Terraform{}, handler.OnlyControllerOwner())).
		WatchesMetadata(&corev1.ConfigMap{}, r.readers("ConfigMap")).
		WithOptions(reconciling.Options(workers))
	for _, kind := range sourceKinds {
		source := &metav1.PartialObjectMetadata{}
		source.SetGroupVersionKind(schema.GroupVersionKind{Group: sourcev1.GroupVersion.Group, Version: sourcev1.GroupVersion.Version, Kind: kind})
		b = b.WatchesMetadata(source, r.readers(kind))
	}
	return b.Complete(r)
}

// otherScope passes updates that change a stack's owner, which decides what it may read.
var otherScope = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	return scope.Of(e.ObjectNew.GetLabels()) != scope.Of(e.ObjectOld.GetLabels())
}}

// otherApprovals passes updates of the recorded approvals: a person gave one.
var otherApprovals = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	now, is := e.ObjectNew.(*infrav1.Terraform)
	was, before := e.ObjectOld.(*infrav1.Terraform)
	return is && before && len(now.Status.Plan.Approvals) > 0 && !equality.Semantic.DeepEqual(now.Status.Plan.Approvals, was.Status.Plan.Approvals)
}}

// readers enqueues the stacks that read an object of the kind.
func (r *Reconciler) readers(kind string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		return reconciling.Find(ctx, r.stacks, r.Log, &infrav1.TerraformList{}, indexReferences, kind+"/"+o.GetNamespace()+"/"+o.GetName())
	})
}

// enqueued reconciles the stacks that a channel names.
func enqueued(stacks <-chan run.Stack) source.Source {
	return source.Func(func(ctx context.Context, q requests) error {
		go func() {
			for {
				select {
				case <-ctx.Done():
					return
				case s := <-stacks:
					enqueue(q, types.NamespacedName{Namespace: s.Namespace, Name: s.Name})
				}
			}
		}()
		return nil
	})
}
