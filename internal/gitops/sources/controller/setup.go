// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	ctrlsource "sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/kit/fresh"
	"github.com/yuba-dev/yuba/internal/kit/limiter"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
)

// Sources maintains the artifacts of all kinds of sources.
type Sources struct {
	// Client writes; Reader bypasses the cache.
	Client client.Client
	Reader client.Reader
	Events events.EventRecorder
	Store  Store
	// Dir is a private directory for temporary trees. Remains of an earlier process are removed.
	Dir string
	// Limits limit archives and their content.
	Limits archive.Limits
	// ArchiveURL returns the URL of an object's archive; plural is the resource.
	ArchiveURL func(plural string, name types.NamespacedName, digest string) string
	// Observe receives each completed look; may be nil. It must not block.
	Observe func(Look)
	Log     *slog.Logger

	// Git, OCI and Bucket are the upstreams. Kinds without one are ignored.
	Git    Upstream[*sourcev1.GitRepository]
	OCI    Upstream[*sourcev1.OCIRepository]
	Bucket Upstream[*sourcev1.Bucket]
	// Charts reads charts; without it there are neither HelmRepositories nor HelmCharts.
	Charts Charts

	// Cache is the manager's cache, set by SetupWithManager.
	Cache client.Reader
	// fresh reads from the cache, unless it lacks this process's last write.
	fresh *fresh.Reader
	now   func() time.Time
	ctx   context.Context
	packs *packs
	hosts *limiter.Limiter
	kinds map[string]*reconciler
}

const (
	// workers is the number of concurrent reconciliations of a kind. They never wait for an
	// upstream.
	workers = 4
	// perHost is the number of concurrent looks and fetches for one host through one proxy.
	perHost = 4
)

// indexSecrets finds the sources that name a Secret, indexIncludes those that include a
// GitRepository: "namespace/name".
const (
	indexSecrets  = "yuba.secrets"
	indexIncludes = "yuba.includes"
	// indexChartSources finds the HelmCharts of a source: "namespace/kind/name".
	indexChartSources = "yuba.chartsources"
)

// SetupWithManager adds the controllers to the manager; looks end with ctx.
func (s *Sources) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	if err := clearAway(s.Dir); err != nil {
		return err
	}
	s.Cache, s.now, s.ctx = mgr.GetCache(), time.Now, ctx
	s.fresh = fresh.New(s.Cache, s.Reader)
	s.packs, s.hosts = newPacks(s.Store, s.Limits.WithDefaults()), limiter.New(perHost)
	s.kinds = map[string]*reconciler{}
	var kinds []*kind
	if s.Git != nil {
		kinds = append(kinds, gitRepositories(s.Git))
	}
	if s.OCI != nil {
		kinds = append(kinds, ociRepositories(s.OCI))
	}
	if s.Bucket != nil {
		kinds = append(kinds, buckets(s.Bucket))
	}
	if s.Charts != nil {
		kinds = append(kinds, helmRepositories(s.Reader), s.helmCharts())
	}
	for _, k := range kinds {
		r := &reconciler{Sources: s, kind: k, ended: make(chan event.GenericEvent)}
		s.kinds[k.name] = r
		if err := r.setup(ctx, mgr); err != nil {
			return fmt.Errorf("set up the controller of %s: %w", k.name, err)
		}
	}
	return s.setupExternal(mgr)
}

// clearAway creates the directory and removes trees of an earlier process.
func clearAway(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create the directory for sources: %w", err)
	}
	left, err := filepath.Glob(filepath.Join(dir, workPrefix+"*"))
	if err != nil {
		return fmt.Errorf("list trees of an earlier server: %w", err)
	}
	for _, tree := range left {
		if err := os.RemoveAll(tree); err != nil {
			return fmt.Errorf("remove a tree of an earlier server: %w", err)
		}
	}
	return nil
}

func (r *reconciler) setup(ctx context.Context, mgr ctrl.Manager) error {
	index := func(name string, values func(Object) []string) error {
		return mgr.GetFieldIndexer().IndexField(ctx, r.kind.new(), name, func(o client.Object) []string {
			var keys []string
			for _, value := range values(o.(Object)) {
				keys = append(keys, o.GetNamespace()+"/"+value)
			}
			return keys
		})
	}
	if err := index(indexSecrets, r.kind.references); err != nil {
		return err
	}
	b := ctrl.NewControllerManagedBy(mgr).Named("source-"+strings.ToLower(r.kind.name)).
		For(r.kind.new(), builder.WithPredicates(reconciling.Triggers())).
		WatchesRawSource(ctrlsource.Channel(r.ended, &handler.EnqueueRequestForObject{})).
		WatchesMetadata(&corev1.Secret{}, r.those(indexSecrets), builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})).
		WithOptions(reconciling.Options(workers))
	if r.kind.name == sourcev1.GitRepositoryKind {
		if err := index(indexIncludes, r.included); err != nil {
			return err
		}
		b = b.Watches(&sourcev1.GitRepository{}, r.those(indexIncludes), builder.WithPredicates(artifactChanged()))
	}
	if r.kind.name == sourcev1.HelmChartKind {
		if err := index(indexChartSources, chartSources); err != nil {
			return err
		}
		for kind, source := range chartSourceKinds() {
			b = b.Watches(source, r.chartsOf(kind), builder.WithPredicates(artifactChanged()))
		}
	}
	return b.Complete(r)
}

func (r *reconciler) included(o Object) []string {
	var names []string
	for _, in := range r.kind.view(o).include {
		names = append(names, in.GitRepositoryRef.Name)
	}
	return names
}

// those makes the sources that an index finds for an object look.
func (r *reconciler) those(index string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, changed client.Object) []reconcile.Request {
		requests := reconciling.Find(ctx, r.Cache, r.Log, r.kind.list(), index, changed.GetNamespace()+"/"+changed.GetName())
		for _, request := range requests {
			r.memories.mark(request.NamespacedName)
		}
		return requests
	})
}

// artifactChanged matches new and changed artifacts.
func artifactChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return true },
		DeleteFunc: func(event.DeleteEvent) bool { return true },
		UpdateFunc: func(e event.UpdateEvent) bool {
			was, is := e.ObjectOld.(Object).GetArtifact(), e.ObjectNew.(Object).GetArtifact()
			return (was == nil) != (is == nil) || was != nil && (was.Digest != is.Digest || was.Revision != is.Revision)
		},
	}
}

// GitNews makes all GitRepositories of an upstream look at once. It does not block.
func (s *Sources) GitNews(upstream string) {
	if r := s.kinds[sourcev1.GitRepositoryKind]; r != nil {
		go r.tell(upstream, types.NamespacedName{})
	}
}

func (r *reconciler) archiveURL(o Object, out *outcome) string {
	digest := ""
	if a := o.GetArtifact(); a != nil {
		digest = a.Digest
	}
	if out.made != nil {
		digest = out.made.digest
	}
	return r.ArchiveURL(r.kind.plural, client.ObjectKeyFromObject(o), digest)
}

// kindPath begins the paths of a kind's artifacts.
func kindPath(kind string) string { return strings.ToLower(kind) }
