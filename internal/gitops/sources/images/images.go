// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	automationv1 "github.com/fluxcd/image-automation-controller/api/v1"
	imagev1 "github.com/fluxcd/image-reflector-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	ctrlsource "sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/yuba-dev/yuba/internal/gitops/sources/git"
	"github.com/yuba-dev/yuba/internal/gitops/sources/oci"
	"github.com/yuba-dev/yuba/internal/kit/fresh"
	"github.com/yuba-dev/yuba/internal/kit/limiter"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
)

// Images reconciles the three kinds.
type Images struct {
	// Client writes; Reader bypasses the cache.
	Client client.Client
	Reader client.Reader
	Events events.EventRecorder
	// Registries and Git are the upstreams. Git has the mirrors of repositories.
	Registries *oci.Client
	Git        *git.Mirrors
	// AllowCrossNamespace lets an ImageUpdateAutomation push to the GitRepository of another namespace.
	AllowCrossNamespace bool
	Log                 *slog.Logger

	cache client.Reader
	fresh *fresh.Reader
	now   func() time.Time
	ctx   context.Context
	hosts *limiter.Limiter
	book  book

	repositories, policies, automations *reconciler
}

const (
	// workers is the number of concurrent reconciliations of a kind.
	workers = 2
	// perHost is the amount of concurrent work for one host.
	perHost = 2
)

// The indexes find objects that name a Secret, policies of an ImageRepository, and automations of a
// GitRepository or of a namespace: "namespace/name".
const (
	indexSecrets    = "yuba.image.secrets"
	indexRepository = "yuba.image.repository"
	indexSource     = "yuba.image.source"
)

// SetupWithManager adds the controllers to the manager; work ends with ctx.
func (i *Images) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	i.cache, i.now, i.ctx = mgr.GetCache(), time.Now, ctx
	i.fresh, i.hosts = fresh.New(i.cache, i.Reader), limiter.New(perHost)
	i.repositories, i.policies, i.automations = i.reconciler(i.scans()), i.reconciler(i.elections()), i.reconciler(i.updates())
	for _, index := range []struct {
		of   client.Object
		name string
		keys func(client.Object) []string
	}{
		{&imagev1.ImageRepository{}, indexSecrets, secretsOfRepository},
		{&automationv1.ImageUpdateAutomation{}, indexSecrets, secretsOfAutomation},
		{&imagev1.ImagePolicy{}, indexRepository, func(o client.Object) []string {
			p := o.(*imagev1.ImagePolicy)
			return []string{cmp.Or(p.Spec.ImageRepositoryRef.Namespace, p.Namespace) + "/" + p.Spec.ImageRepositoryRef.Name}
		}},
		{&automationv1.ImageUpdateAutomation{}, indexSource, func(o client.Object) []string {
			a := o.(*automationv1.ImageUpdateAutomation)
			return []string{cmp.Or(a.Spec.SourceRef.Namespace, a.Namespace) + "/" + a.Spec.SourceRef.Name, a.Namespace + "/"}
		}},
	} {
		if err := mgr.GetFieldIndexer().IndexField(ctx, index.of, index.name, index.keys); err != nil {
			return fmt.Errorf("index image automation: %w", err)
		}
	}
	byKey := func(o client.Object) string { return o.GetNamespace() + "/" + o.GetName() }
	if err := i.repositories.setup(mgr, "imagerepository").
		WatchesMetadata(&corev1.Secret{}, i.repositories.naming(indexSecrets, byKey), changed).Complete(i.repositories); err != nil {
		return err
	}
	if err := i.policies.setup(mgr, "imagepolicy").
		Watches(&imagev1.ImageRepository{}, i.policies.naming(indexRepository, byKey), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Complete(i.policies); err != nil {
		return err
	}
	return i.automations.setup(mgr, "imageupdateautomation").
		WatchesMetadata(&corev1.Secret{}, i.automations.naming(indexSecrets, byKey), changed).
		Watches(&imagev1.ImagePolicy{}, i.automations.naming(indexSource, func(o client.Object) string { return o.GetNamespace() + "/" }), builder.WithPredicates(electedAnew())).
		Watches(&sourcev1.GitRepository{}, i.automations.naming(indexSource, byKey), builder.WithPredicates(sourceChanged())).
		Complete(i.automations)
}

var changed = builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})

func (r *reconciler) setup(mgr ctrl.Manager, name string) *builder.Builder {
	return ctrl.NewControllerManagedBy(mgr).Named(name).
		For(r.purpose.new(), builder.WithPredicates(reconciling.Triggers())).
		WatchesRawSource(ctrlsource.Channel(r.ended, &handler.EnqueueRequestForObject{})).
		WithOptions(reconciling.Options(workers))
}

// naming makes the objects that an index finds for another object work.
func (r *reconciler) naming(index string, key func(client.Object) string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		requests := reconciling.Find(ctx, r.cache, r.Log, r.purpose.list(), index, key(o))
		for _, request := range requests {
			r.memories.mark(request.NamespacedName)
		}
		return requests
	})
}

// electedAnew matches policies with another image, or other labels.
func electedAnew() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			was, is := e.ObjectOld.(*imagev1.ImagePolicy), e.ObjectNew.(*imagev1.ImagePolicy)
			return !equality.Semantic.DeepEqual(was.Status.LatestRef, is.Status.LatestRef) || !equality.Semantic.DeepEqual(was.Labels, is.Labels)
		},
	}
}

// sourceChanged matches repositories with another commit or spec.
func sourceChanged() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			was, is := e.ObjectOld.(*sourcev1.GitRepository), e.ObjectNew.(*sourcev1.GitRepository)
			return was.Generation != is.Generation || is.Status.Artifact != nil && (was.Status.Artifact == nil || was.Status.Artifact.Revision != is.Status.Artifact.Revision)
		},
	}
}
