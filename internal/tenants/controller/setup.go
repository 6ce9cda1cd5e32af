// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/kit/fresh"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/kit/retry"
	"github.com/yuba-dev/yuba/internal/objects/engine"
	"github.com/yuba-dev/yuba/internal/tenants/check"
	"github.com/yuba-dev/yuba/internal/tenants/rows"
)

const (
	// indexReferences finds the registries and tenants that read an object: "kind/namespace/name".
	indexReferences = "yuba.tenant.references"
	// indexRegistry finds the templates and tenants of a registry: "namespace/name".
	indexRegistry = "yuba.tenant.registry"
	// indexTemplate finds the tenants of a template: "namespace/name".
	indexTemplate = "yuba.tenant.template"
)

const (
	// tenantWorkers is how many passes over tenants are made at a time. A pass waits for requests, never for readiness.
	tenantWorkers = 8
	// registryWorkers and templateWorkers are the same for the others. No pass over a registry waits for its database; one over a
	// template may wait for the cluster that it names.
	registryWorkers = 4
	templateWorkers = 4
)

// Check says what is to be said about a template. It is asked when the template changes; registry is nil when there is none.
type Check func(ctx context.Context, template *tenantv1.TenantTemplate, registry *tenantv1.TenantRegistry) ([]check.Finding, error)

// Tenants are the controllers of the three kinds, and what they share.
type Tenants struct {
	// Client reads from the cache and writes; Reader reads past the cache.
	Client client.Client
	Reader client.Reader
	Events events.EventRecorder
	// Config is the server's own way to its API, with all rights.
	Config *rest.Config
	// Rows says what registries may read.
	Rows rows.Options
	// Limits bound a reading.
	Limits rows.Limits
	// EnvPrefixes begin the keys of varsFrom that stacks of tenants get as environment; only checks of templates ask.
	EnvPrefixes []string
	// Check is asked about templates instead of package check; nil for that.
	Check Check
	// Observe hears of passes and writes; nil for nobody. It must not block.
	Observe Observer
	// Busy is told whether anything is written now, again and again; nil for nobody. It must not block.
	Busy func(bool)
	Now  func() time.Time
	Log  *slog.Logger

	effort effort
	base   context.Context
	// cached reads from the cache alone, metadata of ConfigMaps and Secrets included; fresh reads what was written here, too.
	cached client.Reader
	fresh  *fresh.Reader
	pool   *rows.Pool
	// slots holds a token for each reading of rows that is underway.
	slots    chan struct{}
	engine   *engine.Engine
	book     *book
	ledger   *ledger
	verdicts *verdicts
	clusters *ways
	// The controllers' queues, once they have started.
	tenantQueue, registryQueue, templateQueue queue
}

// queue asks for passes.
type queue struct {
	to atomic.Pointer[workqueue.TypedRateLimitingInterface[reconcile.Request]]
}

// source hands the queue over when the controller starts.
func (q *queue) source() source.Source {
	return source.Func(func(_ context.Context, to workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		q.to.Store(&to)
		return nil
	})
}

// add asks for a pass after a while. Before the controller has started nothing has to be asked: it begins with a pass over
// each.
func (q *queue) add(name types.NamespacedName, after time.Duration) {
	to := q.to.Load()
	switch {
	case to == nil:
	case after <= 0:
		(*to).Add(reconcile.Request{NamespacedName: name})
	default:
		(*to).AddAfter(reconcile.Request{NamespacedName: name}, after)
	}
}

// SetupWithManager starts the controllers with the manager. The API has to serve the three kinds.
func (r *Tenants) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	if err := r.prepare(ctx, mgr); err != nil {
		return err
	}
	if err := r.index(ctx, mgr); err != nil {
		return err
	}
	for _, set := range []func(ctrl.Manager) error{r.setupRegistries, r.setupTemplates, r.setupTenants} {
		if err := set(mgr); err != nil {
			return err
		}
	}
	return nil
}

func (r *Tenants) prepare(ctx context.Context, mgr ctrl.Manager) (err error) {
	r.base, r.cached, r.fresh = ctx, mgr.GetCache(), fresh.New(mgr.GetCache(), r.Reader)
	r.engine = engine.New(engine.Policy{Kind: tenantv1.TenantKind, Manager: tenantv1.FieldManager}, owners{r})
	r.book, r.ledger, r.pool, r.slots = newBook(), newLedger(), rows.NewPool(r.Rows), make(chan struct{}, readingSlots)
	r.verdicts = newVerdicts()
	context.AfterFunc(ctx, r.pool.Close)
	r.clusters, err = newWays(ctx, r, mgr)
	return err
}

func (r *Tenants) index(ctx context.Context, mgr ctrl.Manager) error {
	for _, i := range []struct {
		of    client.Object
		field string
		names func(client.Object) []string
	}{
		{&tenantv1.TenantRegistry{}, indexReferences, func(o client.Object) []string {
			return referenceNames(o.GetNamespace(), referencesOf(&o.(*tenantv1.TenantRegistry).Spec.Source))
		}},
		{&tenantv1.Tenant{}, indexReferences, func(o client.Object) []string {
			if k := o.(*tenantv1.Tenant).Spec.KubeConfig; k != nil && k.SecretRef != nil {
				return referenceNames(o.GetNamespace(), []reference{{"Secret", k.SecretRef.Name}})
			}
			return nil
		}},
		{&tenantv1.TenantTemplate{}, indexReferences, func(o client.Object) []string {
			if k := o.(*tenantv1.TenantTemplate).Spec.KubeConfig; k != nil && k.SecretRef != nil {
				return referenceNames(o.GetNamespace(), []reference{{"Secret", k.SecretRef.Name}})
			}
			return nil
		}},
		{&tenantv1.TenantTemplate{}, indexRegistry, func(o client.Object) []string {
			return []string{o.GetNamespace() + "/" + o.(*tenantv1.TenantTemplate).Spec.RegistryID}
		}},
		{&tenantv1.Tenant{}, indexRegistry, func(o client.Object) []string {
			return []string{o.GetNamespace() + "/" + o.(*tenantv1.Tenant).Registry()}
		}},
		{&tenantv1.Tenant{}, indexTemplate, func(o client.Object) []string {
			return []string{o.GetNamespace() + "/" + o.(*tenantv1.Tenant).Spec.TemplateRef}
		}},
	} {
		if err := mgr.GetFieldIndexer().IndexField(ctx, i.of, i.field, i.names); err != nil {
			return fmt.Errorf("index the kinds of tenants: %w", err)
		}
	}
	return nil
}

func referenceNames(namespace string, refs []reference) []string {
	names := make([]string, 0, len(refs))
	for _, ref := range refs {
		names = append(names, ref.kind+"/"+namespace+"/"+ref.name)
	}
	return names
}

func options(workers int) controller.Options {
	// One process may set up the controllers again, after a restored backup.
	return controller.Options{MaxConcurrentReconciles: workers, SkipNameValidation: ptr.To(true), RateLimiter: retry.Limiter()}
}

func (r *Tenants) setupRegistries(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named("tenantregistry").
		For(&tenantv1.TenantRegistry{}, builder.WithPredicates(reconciling.Triggers(predicate.LabelChangedPredicate{}))).
		Watches(&tenantv1.TenantTemplate{}, mapTo(registryOfTemplate), builder.WithPredicates(reconciling.Triggers(predicate.LabelChangedPredicate{}, getsValid()))).
		Watches(&tenantv1.Tenant{}, r.registriesOfTenants()).
		WatchesMetadata(&corev1.Secret{}, r.readers("Secret")).
		WatchesMetadata(&corev1.ConfigMap{}, r.readers("ConfigMap")).
		WatchesRawSource(r.registryQueue.source()).
		WithOptions(options(registryWorkers)).Complete(reconcile.Func(r.reconcileRegistry))
}

func (r *Tenants) setupTemplates(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named("tenanttemplate").
		For(&tenantv1.TenantTemplate{}, builder.WithPredicates(reconciling.Triggers(predicate.LabelChangedPredicate{}))).
		Watches(&tenantv1.TenantRegistry{}, r.templatesOfRegistry(), builder.WithPredicates(comesAndGoes())).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.templatesReading)).
		WatchesRawSource(r.templateQueue.source()).
		WithOptions(options(templateWorkers)).Complete(reconcile.Func(r.reconcileTemplate))
}

func (r *Tenants) setupTenants(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named("tenant").
		For(&tenantv1.Tenant{}, builder.WithPredicates(reconciling.Triggers(predicate.LabelChangedPredicate{}))).
		Watches(&tenantv1.TenantRegistry{}, r.tenantsOfRegistry(), builder.WithPredicates(comesAndGoes())).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.tenantsReading)).
		WatchesRawSource(r.tenantQueue.source()).
		WithOptions(options(tenantWorkers)).Complete(reconcile.Func(r.reconcileTenant))
}

// getsValid lets through that a template was found to be well, or not to be.
func getsValid() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		old, okOld := e.ObjectOld.(*tenantv1.TenantTemplate)
		now, okNow := e.ObjectNew.(*tenantv1.TenantTemplate)
		return okOld && okNow && validated(old) != validated(now)
	}}
}

// comesAndGoes lets through that there is an object, and that there is none any more.
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

// settle is how long a registry waits for more of its tenants to change: many do at a time.
const settle = 200 * time.Millisecond

// registriesOfTenants asks for a pass over the registry when a tenant has come to be ready or not, or is gone.
func (r *Tenants) registriesOfTenants() handler.EventHandler {
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

// readers marks the registries that read an object as to be read anew, and asks for a pass over them.
func (r *Tenants) readers(kind string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		var list tenantv1.TenantRegistryList
		requests := r.find(ctx, &list, indexReferences, kind+"/"+o.GetNamespace()+"/"+o.GetName())
		for _, q := range requests {
			r.ledger.news(q.NamespacedName)
		}
		return requests
	})
}

// tenantsReading finds the tenants whose objects go to a cluster that a Secret names.
func (r *Tenants) tenantsReading(ctx context.Context, o client.Object) []reconcile.Request {
	var list tenantv1.TenantList
	return r.find(ctx, &list, indexReferences, "Secret/"+o.GetNamespace()+"/"+o.GetName())
}

// templatesReading finds the templates whose objects go to a cluster that a Secret names, and has those checked again that are not well.
func (r *Tenants) templatesReading(ctx context.Context, o client.Object) []reconcile.Request {
	var list tenantv1.TenantTemplateList
	requests := r.find(ctx, &list, indexReferences, "Secret/"+o.GetNamespace()+"/"+o.GetName())
	for _, q := range requests {
		r.verdicts.forget(q.NamespacedName)
	}
	return requests
}

func (r *Tenants) templatesOfRegistry() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		var list tenantv1.TenantTemplateList
		return r.find(ctx, &list, indexRegistry, o.GetNamespace()+"/"+o.GetName())
	})
}

func (r *Tenants) tenantsOfRegistry() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		var list tenantv1.TenantList
		return r.find(ctx, &list, indexRegistry, o.GetNamespace()+"/"+o.GetName())
	})
}

// find lists the objects of an index.
func (r *Tenants) find(ctx context.Context, list client.ObjectList, index, key string) []reconcile.Request {
	if err := r.cached.List(ctx, list, client.MatchingFields{index: key}, client.UnsafeDisableDeepCopy); err != nil {
		r.Log.Error("finding the objects that have to do with another", "object", key, "error", err)
		return nil
	}
	var requests []reconcile.Request
	add := func(o client.Object) {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)})
	}
	switch list := list.(type) {
	case *tenantv1.TenantRegistryList:
		for i := range list.Items {
			add(&list.Items[i])
		}
	case *tenantv1.TenantTemplateList:
		for i := range list.Items {
			add(&list.Items[i])
		}
	case *tenantv1.TenantList:
		for i := range list.Items {
			add(&list.Items[i])
		}
	}
	return requests
}
