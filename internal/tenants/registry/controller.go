// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/tenants/database"
	"github.com/yuba-dev/yuba/internal/tenants/passes"
)

const (
	// Workers is how many registries are reconciled at a time. A pass never waits for a database.
	Workers = 4
	// readingSlots is how many registries are read at a time. Only very many slow databases delay
	// others.
	readingSlots = 32
)

// Controller reconciles TenantRegistries: it reads their rows, and creates, changes and deletes
// their tenants.
type Controller struct {
	*passes.API
	// Findings are reported to the templates.
	Findings *passes.Findings
	// Templates requests passes over templates.
	Templates *passes.Queue

	queue  passes.Queue
	ledger *ledger
	pool   *database.Pool
	// slots holds a token for each reading in progress.
	slots chan struct{}
}

// New makes the controller; options limit what registries may read.
func New(api *passes.API, findings *passes.Findings, templates *passes.Queue, options database.Options) *Controller {
	r := &Controller{API: api, Findings: findings, Templates: templates, ledger: newLedger(), pool: database.NewPool(options), slots: make(chan struct{}, readingSlots)}
	context.AfterFunc(api.Base, r.pool.Close)
	return r
}

// Setup starts the controller with the manager, with indices of the registry's other kinds.
func (r *Controller) Setup(ctx context.Context, mgr ctrl.Manager) error {
	err := errors.Join(
		passes.Index(ctx, mgr, &tenantv1.TenantRegistry{}, passes.IndexReferences, func(o client.Object) []string {
			return references(o.GetNamespace(), &o.(*tenantv1.TenantRegistry).Spec.Source)
		}),
		passes.Index(ctx, mgr, &tenantv1.TenantTemplate{}, passes.IndexRegistry, func(o client.Object) []string {
			return []string{passes.RegistryOfTemplate(o.(*tenantv1.TenantTemplate)).String()}
		}),
		passes.Index(ctx, mgr, &tenantv1.Tenant{}, passes.IndexRegistry, func(o client.Object) []string {
			return []string{passes.RegistryOf(o.(*tenantv1.Tenant)).String()}
		}),
		passes.Index(ctx, mgr, &tenantv1.Tenant{}, passes.IndexTemplate, func(o client.Object) []string {
			return []string{o.GetNamespace() + "/" + o.(*tenantv1.Tenant).Spec.TemplateRef}
		}),
	)
	if err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).Named("tenantregistry").
		For(&tenantv1.TenantRegistry{}, builder.WithPredicates(reconciling.Triggers(predicate.LabelChangedPredicate{}))).
		Watches(&tenantv1.TenantTemplate{}, handler.EnqueueRequestsFromMapFunc(ofTemplate), builder.WithPredicates(reconciling.Triggers(predicate.LabelChangedPredicate{}, getsValid()))).
		Watches(&tenantv1.Tenant{}, r.tenantsChanged()).
		WatchesMetadata(&corev1.Secret{}, r.readers("Secret")).
		WatchesMetadata(&corev1.ConfigMap{}, r.readers("ConfigMap")).
		WatchesRawSource(r.queue.Source()).
		WithOptions(reconciling.Options(Workers)).Complete(r)
}

func ofTemplate(_ context.Context, o client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: passes.RegistryOfTemplate(o.(*tenantv1.TenantTemplate))}}
}

// getsValid accepts events of templates that became valid or invalid.
func getsValid() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		old, okOld := e.ObjectOld.(*tenantv1.TenantTemplate)
		now, okNow := e.ObjectNew.(*tenantv1.TenantTemplate)
		return okOld && okNow && passes.Validated(old) != passes.Validated(now)
	}}
}

// settle is how long to wait for changes of other tenants, which often come together.
const settle = 200 * time.Millisecond

// tenantsChanged requests a pass over the registry and the template of a tenant whose readiness
// changed, or that is gone.
func (r *Controller) tenantsChanged() handler.EventHandler {
	tell := func(o client.Object) {
		t, ok := o.(*tenantv1.Tenant)
		if !ok {
			return
		}
		if registry := passes.RegistryOf(t); registry.Name != "" {
			r.queue.Add(registry, settle)
		}
		r.Templates.Add(types.NamespacedName{Namespace: t.Namespace, Name: t.Spec.TemplateRef}, settle)
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
			elsewhere := okOld && okNow && passes.RegistryOf(old) != passes.RegistryOf(now)
			if okOld && okNow && passes.StandingOf(old) == passes.StandingOf(now) && !elsewhere {
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
func (r *Controller) readers(kind string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		var list tenantv1.TenantRegistryList
		requests := r.Find(ctx, &list, passes.IndexReferences, passes.Reference(kind, o.GetNamespace(), o.GetName()))
		for _, q := range requests {
			r.ledger.news(q.NamespacedName)
		}
		return requests
	})
}
