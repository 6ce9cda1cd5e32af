// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/tenants/passes"
	"github.com/yuba-dev/yuba/internal/tenants/targets"
)

// workers is how many templates are reconciled at a time. A pass may wait for a template's cluster.
const workers = 4

// Controller reconciles TenantTemplates: it checks them, and reports on their tenants.
type Controller struct {
	*passes.API
	// Queue requests passes.
	Queue passes.Queue

	findings    *passes.Findings
	clusters    *targets.Clusters
	envPrefixes []string
	verdicts    *verdicts
}

// New makes the controller. envPrefixes begin the keys of varsFrom that stacks of tenants get as
// environment.
func New(api *passes.API, findings *passes.Findings, clusters *targets.Clusters, envPrefixes []string) *Controller {
	return &Controller{API: api, findings: findings, clusters: clusters, envPrefixes: envPrefixes, verdicts: newVerdicts()}
}

// Setup starts the controller with the manager.
func (r *Controller) Setup(ctx context.Context, mgr ctrl.Manager) error {
	err := passes.Index(ctx, mgr, &tenantv1.TenantTemplate{}, passes.IndexReferences, func(o client.Object) []string {
		return passes.KubeConfigReferences(o.GetNamespace(), o.(*tenantv1.TenantTemplate).Spec.KubeConfig)
	})
	if err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).Named("tenanttemplate").
		For(&tenantv1.TenantTemplate{}, builder.WithPredicates(reconciling.Triggers(predicate.LabelChangedPredicate{}))).
		Watches(&tenantv1.TenantRegistry{}, handler.EnqueueRequestsFromMapFunc(r.ofRegistry), builder.WithPredicates(passes.CreatedOrDeleted())).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.reading)).
		WatchesRawSource(r.Queue.Source()).
		WithOptions(reconciling.Options(workers)).Complete(r)
}

// ofRegistry finds the templates of a registry.
func (r *Controller) ofRegistry(ctx context.Context, o client.Object) []reconcile.Request {
	return r.Find(ctx, &tenantv1.TenantTemplateList{}, passes.IndexRegistry, o.GetNamespace()+"/"+o.GetName())
}

// reading finds the templates whose target's kubeconfig is in a Secret. Invalid ones are checked
// again.
func (r *Controller) reading(ctx context.Context, o client.Object) []reconcile.Request {
	requests := r.Find(ctx, &tenantv1.TenantTemplateList{}, passes.IndexReferences, passes.Reference("Secret", o.GetNamespace(), o.GetName()))
	for _, q := range requests {
		r.verdicts.forget(q.NamespacedName)
	}
	return requests
}
