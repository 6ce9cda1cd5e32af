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
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/kit/fresh"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/objects/engine"
	"github.com/yuba-dev/yuba/internal/objects/owned"
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
	// tenantWorkers is how many tenants are reconciled at a time. A pass waits for requests, never for
	// readiness.
	tenantWorkers = 8
	// registryWorkers and templateWorkers are the same for the other kinds. A pass over a registry
	// never waits for its database; one over a template may wait for the cluster that it names.
	registryWorkers = 4
	templateWorkers = 4
)

// Check returns the findings about a template. It is called when the template changes; registry is
// nil when there is none.
type Check func(ctx context.Context, template *tenantv1.TenantTemplate, registry *tenantv1.TenantRegistry) ([]check.Finding, error)

// Tenants are the controllers of the three kinds, and what they share: the ways to the API, and
// their queues.
type Tenants struct {
	// Client reads from the cache and writes. Reader reads past the cache.
	Client client.Client
	Reader client.Reader
	Events events.EventRecorder
	// Config is the server's own way to its API, with all rights.
	Config *rest.Config
	// Rows limits what registries may read.
	Rows rows.Options
	// Limits bound a reading.
	Limits rows.Limits
	// EnvPrefixes begin the keys of varsFrom that stacks of tenants get as environment; only checks of
	// templates ask.
	EnvPrefixes []string
	// Check is asked about templates instead of package check; nil for that.
	Check Check
	// Observe is told about passes and writes; nil for nobody. It must not block.
	Observe Observer
	// Busy is called whenever writing begins or ends; nil for nobody. It must not block.
	Busy func(bool)
	Now  func() time.Time
	Log  *slog.Logger

	effort effort
	base   context.Context
	// cached reads only from the cache, including metadata of ConfigMaps and Secrets. fresh also reads
	// our own recent writes.
	cached client.Reader
	fresh  *fresh.Reader

	registries *registryController
	templates  *templateController
	tenants    *tenantController
	// The controllers' queues, once they have started.
	tenantQueue, registryQueue, templateQueue queue
}

// registryController reads the rows of registries, and makes, changes and deletes their tenants.
type registryController struct {
	*Tenants
	ledger *ledger
	pool   *rows.Pool
	// slots holds a token for each reading of rows that is under way.
	slots chan struct{}
}

// templateController checks templates. The ledger tells it which tenants the passes over registries
// could not make.
type templateController struct {
	*Tenants
	ledger   *ledger
	verdicts *verdicts
	clusters *ways
}

// tenantController writes the objects of tenants.
type tenantController struct {
	*Tenants
	engine   *engine.Engine
	memories *memories
	sights   *sights
	// readers are the tenants that read an object of our API which need not be theirs, lacking those
	// that wait for a kind of an API group.
	readers  *interests[owned.ID]
	lacking  *interests[string]
	clusters *ways
	// kindsChanged is called when an API may serve other kinds.
	kindsChanged func()
}

// queue requests passes.
type queue struct {
	to atomic.Pointer[workqueue.TypedRateLimitingInterface[reconcile.Request]]
}

// source provides the queue when the controller starts.
func (q *queue) source() source.Source {
	return source.Func(func(_ context.Context, to workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		q.to.Store(&to)
		return nil
	})
}

// add requests a pass after a while. A controller that has not started begins with a pass over each
// object anyway.
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
	for _, set := range []func(ctrl.Manager) error{r.registries.setup, r.templates.setup, r.tenants.setup} {
		if err := set(mgr); err != nil {
			return err
		}
	}
	return nil
}

// prepare makes the controllers.
func (r *Tenants) prepare(ctx context.Context, mgr ctrl.Manager) (err error) {
	r.base, r.cached, r.fresh = ctx, mgr.GetCache(), fresh.New(mgr.GetCache(), r.Reader)
	accounts := newLedger()
	r.registries = &registryController{Tenants: r, ledger: accounts, pool: rows.NewPool(r.Rows), slots: make(chan struct{}, readingSlots)}
	context.AfterFunc(ctx, r.registries.pool.Close)
	r.tenants = &tenantController{Tenants: r, memories: newMemories(), sights: newSights(),
		readers: newInterests[owned.ID](), lacking: newInterests[string]()}
	r.tenants.engine = engine.New(engine.Policy{Kind: tenantv1.TenantKind, Manager: tenantv1.FieldManager}, owners{r.tenants})
	if r.tenants.clusters, err = newWays(ctx, r.tenants, mgr); err != nil {
		return err
	}
	r.templates = &templateController{Tenants: r, ledger: accounts, verdicts: newVerdicts(), clusters: r.tenants.clusters}
	r.tenants.kindsChanged = r.templates.recheckAll
	return nil
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

func (r *registryController) setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named("tenantregistry").
		For(&tenantv1.TenantRegistry{}, builder.WithPredicates(reconciling.Triggers(predicate.LabelChangedPredicate{}))).
		Watches(&tenantv1.TenantTemplate{}, mapTo(registryOfTemplate), builder.WithPredicates(reconciling.Triggers(predicate.LabelChangedPredicate{}, getsValid()))).
		Watches(&tenantv1.Tenant{}, r.tenantsChanged()).
		WatchesMetadata(&corev1.Secret{}, r.readers("Secret")).
		WatchesMetadata(&corev1.ConfigMap{}, r.readers("ConfigMap")).
		WatchesRawSource(r.registryQueue.source()).
		WithOptions(reconciling.Options(registryWorkers)).Complete(reconcile.Func(r.reconcileRegistry))
}

func (r *templateController) setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named("tenanttemplate").
		For(&tenantv1.TenantTemplate{}, builder.WithPredicates(reconciling.Triggers(predicate.LabelChangedPredicate{}))).
		Watches(&tenantv1.TenantRegistry{}, r.templatesOfRegistry(), builder.WithPredicates(comesAndGoes())).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.templatesReading)).
		WatchesRawSource(r.templateQueue.source()).
		WithOptions(reconciling.Options(templateWorkers)).Complete(reconcile.Func(r.reconcileTemplate))
}

func (r *tenantController) setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named("tenant").
		For(&tenantv1.Tenant{}, builder.WithPredicates(reconciling.Triggers(predicate.LabelChangedPredicate{}))).
		Watches(&tenantv1.TenantRegistry{}, r.tenantsOfRegistry(), builder.WithPredicates(comesAndGoes())).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.tenantsReading)).
		WatchesRawSource(r.tenantQueue.source()).
		WithOptions(reconciling.Options(tenantWorkers)).Complete(reconcile.Func(r.reconcileTenant))
}
