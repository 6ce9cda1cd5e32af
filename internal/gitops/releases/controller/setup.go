// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/fresh"
	"github.com/yuba-dev/yuba/internal/kit/limiter"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
)

const (
	// indexReferences finds the HelmReleases that read an object: "kind/namespace/name".
	indexReferences = "yuba.helmrelease.references"
	// indexDependencies finds the HelmReleases that depend on one: "namespace/name".
	indexDependencies = "yuba.helmrelease.dependencies"
)

const (
	// workers is the number of concurrent passes, which never wait for Helm.
	workers = 4
	// maxAttempts is the number of concurrent attempts. A process needs about 100 MB.
	maxAttempts = 6
)

// SetupWithManager adds the controller to the manager; attempts end with ctx.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	r.ctx, r.cached, r.ended, r.places = ctx, mgr.GetCache(), make(chan event.GenericEvent), limiter.New(maxAttempts)
	r.fresh = fresh.New(r.cached, r.Reader)
	for index, names := range map[string]func(*helmv2.HelmRelease) []string{indexReferences: referenceNames, indexDependencies: dependencyNames} {
		err := mgr.GetFieldIndexer().IndexField(ctx, &helmv2.HelmRelease{}, index, func(o client.Object) []string { return names(o.(*helmv2.HelmRelease)) })
		if err != nil {
			return fmt.Errorf("index HelmReleases: %w", err)
		}
	}
	b := ctrl.NewControllerManagedBy(mgr).Named("helmrelease").
		For(&helmv2.HelmRelease{}, builder.WithPredicates(reconciling.Triggers())).
		Watches(&helmv2.HelmRelease{}, r.dependants(), builder.WithPredicates(readyChanged())).
		WatchesMetadata(&corev1.Secret{}, r.readers("Secret"), builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})).
		WatchesMetadata(&corev1.ConfigMap{}, r.readers("ConfigMap"), builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})).
		WatchesRawSource(source.Channel(r.ended, &handler.EnqueueRequestForObject{})).
		WithOptions(reconciling.Options(workers))
	for kind, o := range map[string]client.Object{sourcev1.HelmChartKind: &sourcev1.HelmChart{}, sourcev1.OCIRepositoryKind: &sourcev1.OCIRepository{}, sourcev1.ExternalArtifactKind: &sourcev1.ExternalArtifact{}} {
		b = b.Watches(o, r.readers(kind))
	}
	return b.Complete(r)
}

func referenceNames(obj *helmv2.HelmRelease) []string {
	var names []string
	if ref := obj.Spec.ChartRef; ref != nil {
		namespace := ref.Namespace
		if namespace == "" {
			namespace = obj.Namespace
		}
		names = append(names, ref.Kind+"/"+namespace+"/"+ref.Name)
	} else if obj.Spec.Chart != nil {
		names = append(names, sourcev1.HelmChartKind+"/"+obj.Spec.Chart.GetNamespace(obj.Namespace)+"/"+obj.GetHelmChartName())
	}
	for _, ref := range references(obj) {
		names = append(names, ref.kind+"/"+obj.Namespace+"/"+ref.name)
	}
	return names
}

func dependencyNames(obj *helmv2.HelmRelease) []string {
	names := make([]string, 0, len(obj.Spec.DependsOn))
	for _, ref := range obj.Spec.DependsOn {
		names = append(names, dependencyOf(obj, ref).String())
	}
	return names
}

// readers enqueues the HelmReleases that read an object of the kind.
func (r *Reconciler) readers(kind string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		return reconciling.Find(ctx, r.cached, r.Log, &helmv2.HelmReleaseList{}, indexReferences, kind+"/"+o.GetNamespace()+"/"+o.GetName())
	})
}

// dependants enqueues the HelmReleases that depend on one.
func (r *Reconciler) dependants() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		return reconciling.Find(ctx, r.cached, r.Log, &helmv2.HelmReleaseList{}, indexDependencies, o.GetNamespace()+"/"+o.GetName())
	})
}

// readyChanged matches HelmReleases that became ready, or are not any more.
func readyChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, ok := e.ObjectOld.(*helmv2.HelmRelease)
		is, ok2 := e.ObjectNew.(*helmv2.HelmRelease)
		return !ok || !ok2 || conditions.Of(was, meta.ReadyCondition) != conditions.Of(is, meta.ReadyCondition) || was.Status.ObservedGeneration != is.Status.ObservedGeneration
	}}
}
