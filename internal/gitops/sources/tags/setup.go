// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	ctrlsource "sigs.k8s.io/controller-runtime/pkg/source"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/gitops/sources/git"
	"github.com/yuba-dev/yuba/internal/kit/fresh"
	"github.com/yuba-dev/yuba/internal/kit/limiter"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/registry/catalog"
	"github.com/yuba-dev/yuba/internal/registry/layout"
)

// Registry is where versions are published. Publishing the same content again changes nothing, and
// other content of a published version is a *catalog.ConflictError, also for concurrent publishers.
type Registry interface {
	Versions(ctx context.Context, m layout.Module) ([]catalog.Release, error)
	Publish(ctx context.Context, v layout.ModuleVersion, archive io.Reader, opts catalog.PublishOptions) (catalog.Release, catalog.Changes, error)
}

// Publisher publishes the tags of ModuleSources.
type Publisher struct {
	// Client writes; Reader bypasses the cache.
	Client client.Client
	Reader client.Reader
	Events events.EventRecorder
	// Git has the mirrors of repositories.
	Git      *git.Mirrors
	Registry Registry
	// Dir is a private directory for temporary trees. Remains of an earlier process are removed.
	Dir string
	// Limits limit archives and their content.
	Limits archive.Limits
	// Batch is how many tags one look publishes at most; 0 means 50.
	Batch int
	Log   *slog.Logger

	// fresh reads from the cache, unless it lacks this process's last write.
	fresh    *fresh.Reader
	cache    client.Reader
	now      func() time.Time
	ctx      context.Context
	hosts    *limiter.Limiter
	memories memories
	// ended wakes the workers when a look ends.
	ended chan event.GenericEvent
}

const (
	// workers is the number of concurrent reconciliations. They never wait for a repository.
	workers = 2
	// perHost is the number of concurrent looks for one host.
	perHost = 2
	// batch is the number of tags that one look publishes.
	batch = 50
	// indexSecrets finds the ModuleSources that name a Secret: "namespace/name".
	indexSecrets = "yuba.modulesource.secrets"
	// workPrefix begins the names of temporary trees.
	workPrefix = "tag-"
)

// SetupWithManager adds the controller to the manager; looks end with ctx.
func (p *Publisher) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	if err := clearAway(p.Dir); err != nil {
		return err
	}
	if p.Batch == 0 {
		p.Batch = batch
	}
	p.Limits = p.Limits.WithDefaults()
	p.cache, p.now, p.ctx = mgr.GetCache(), time.Now, ctx
	p.fresh = fresh.New(p.cache, p.Reader)
	p.hosts, p.ended = limiter.New(perHost), make(chan event.GenericEvent)
	err := mgr.GetFieldIndexer().IndexField(ctx, &yubav1.ModuleSource{}, indexSecrets, func(o client.Object) (keys []string) {
		for _, name := range secretsOf(o.(*yubav1.ModuleSource)) {
			keys = append(keys, o.GetNamespace()+"/"+name)
		}
		return keys
	})
	if err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).Named("modulesource").
		For(&yubav1.ModuleSource{}, builder.WithPredicates(reconciling.Triggers())).
		WatchesRawSource(ctrlsource.Channel(p.ended, &handler.EnqueueRequestForObject{})).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(p.naming), builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})).
		WithOptions(reconciling.Options(workers)).
		Complete(p)
}

// naming makes the objects that name a Secret look.
func (p *Publisher) naming(ctx context.Context, secret client.Object) []reconcile.Request {
	requests := reconciling.Find(ctx, p.cache, p.Log, &yubav1.ModuleSourceList{}, indexSecrets, secret.GetNamespace()+"/"+secret.GetName())
	for _, request := range requests {
		p.memories.mark(request.NamespacedName)
	}
	return requests
}

// clearAway creates the directory and removes trees of an earlier process.
func clearAway(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create the directory for tags: %w", err)
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
