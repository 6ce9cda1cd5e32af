// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
)

// getsValid lets through templates that became valid or invalid.
func getsValid() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		old, okOld := e.ObjectOld.(*tenantv1.TenantTemplate)
		now, okNow := e.ObjectNew.(*tenantv1.TenantTemplate)
		return okOld && okNow && validated(old) != validated(now)
	}}
}

// comesAndGoes lets through objects that are created or deleted.
func comesAndGoes() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			return (e.ObjectNew.GetDeletionTimestamp() == nil) != (e.ObjectOld.GetDeletionTimestamp() == nil)
		},
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

func mapTo(name func(client.Object) types.NamespacedName) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: name(o)}}
	})
}

func registryOfTemplate(o client.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.(*tenantv1.TenantTemplate).Spec.RegistryID}
}

func registryOf(t *tenantv1.Tenant) types.NamespacedName {
	return types.NamespacedName{Namespace: t.Namespace, Name: t.Registry()}
}

// settle is how long a registry waits for changes of more of its tenants: many change at a time.
const settle = 200 * time.Millisecond

// tenantsChanged requests a pass over the registry and the template of a tenant whose readiness
// changed, or that is gone.
func (r *registryController) tenantsChanged() handler.EventHandler {
	tell := func(o client.Object) {
		t, ok := o.(*tenantv1.Tenant)
		if !ok {
			return
		}
		if registry := registryOf(t); registry.Name != "" {
			r.registryQueue.add(registry, settle)
		}
		r.templateQueue.add(types.NamespacedName{Namespace: t.Namespace, Name: t.Spec.TemplateRef}, settle)
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			tell(e.Object)
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			tell(e.Object)
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			old, okOld := e.ObjectOld.(*tenantv1.Tenant)
			now, okNow := e.ObjectNew.(*tenantv1.Tenant)
			elsewhere := okOld && okNow && registryOf(old) != registryOf(now)
			if okOld && okNow && standingOf(old) == standingOf(now) && !elsewhere {
				return
			}
			if elsewhere {
				tell(old)
			}
			tell(e.ObjectNew)
		},
	}
}

// readers requests new readings of the registries that read an object.
func (r *registryController) readers(kind string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		var list tenantv1.TenantRegistryList
		requests := r.find(ctx, &list, indexReferences, kind+"/"+o.GetNamespace()+"/"+o.GetName())
		for _, q := range requests {
			r.ledger.news(q.NamespacedName)
		}
		return requests
	})
}

// tenantsReading finds the tenants whose target's kubeconfig is in a Secret.
func (r *tenantController) tenantsReading(ctx context.Context, o client.Object) []reconcile.Request {
	var list tenantv1.TenantList
	return r.find(ctx, &list, indexReferences, "Secret/"+o.GetNamespace()+"/"+o.GetName())
}

// templatesReading finds the templates whose target's kubeconfig is in a Secret, and has those with
// mistakes checked again.
func (r *templateController) templatesReading(ctx context.Context, o client.Object) []reconcile.Request {
	var list tenantv1.TenantTemplateList
	requests := r.find(ctx, &list, indexReferences, "Secret/"+o.GetNamespace()+"/"+o.GetName())
	for _, q := range requests {
		r.verdicts.forget(q.NamespacedName)
	}
	return requests
}

func (r *templateController) templatesOfRegistry() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		var list tenantv1.TenantTemplateList
		return r.find(ctx, &list, indexRegistry, o.GetNamespace()+"/"+o.GetName())
	})
}

func (r *tenantController) tenantsOfRegistry() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		var list tenantv1.TenantList
		return r.find(ctx, &list, indexRegistry, o.GetNamespace()+"/"+o.GetName())
	})
}

// find lists the objects of an index.
func (r *Tenants) find(ctx context.Context, list client.ObjectList, index, key string) []reconcile.Request {
	return reconciling.Find(ctx, r.cached, r.Log, list, index, key)
}
