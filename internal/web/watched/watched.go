// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package watched

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/web/access"
	"github.com/yuba-dev/yuba/internal/web/live"
	"github.com/yuba-dev/yuba/internal/web/site"
)

const (
	// Most limits objects that are listed as the person, and maxNamespaces the namespaces in which they
	// are looked for.
	Most, maxNamespaces = 500, 30
	// remembered is how long it is known whether a kind is served and can be watched.
	remembered = time.Minute
	// patience limits waiting for the first objects of a watch.
	patience = 5 * time.Second
)

// Objects are the watched objects.
type Objects struct {
	cache client.Reader
	// own is the API as this server.
	own client.Client
	now func() time.Time

	mu    sync.Mutex
	known map[schema.GroupVersionKind]answer
}

type answer struct {
	served, watched bool
	until           time.Time
}

// New returns the objects of a cache. own is the API as this server.
func New(watched client.Reader, own client.Client, now func() time.Time) *Objects {
	return &Objects{cache: watched, own: own, now: now, known: map[schema.GroupVersionKind]answer{}}
}

// Found is what a person sees of a kind.
type Found[T any] struct {
	Items []*T
	// Served is true if the API serves the kind.
	Served bool
	// Missing says why the person sees none, or not all; empty if these are all that they may list.
	Missing string
	// Away is true if Missing is about the server: the person may list the kind.
	Away bool
}

// List returns the objects of a kind that the person may list, sorted by namespace and name.
func List[T any](r *site.Request, o *Objects, k Kind[T]) (Found[T], error) {
	is, err := o.ask(r.Context(), k.gvk, k.Resource)
	if err != nil || !is.served {
		return Found[T]{Missing: "This API does not serve " + k.Resource + "."}, err
	}
	scope, err := scopeOf(r, k)
	if err != nil || scope.Nothing() {
		return Found[T]{Served: true, Missing: "You need the right to list " + k.Resource + "." + k.gvk.Group + "."}, err
	}
	found := Found[T]{Served: true}
	var items []T
	if is.watched {
		items, err = read(r, o, k)
	} else {
		items, found.Missing, err = readAs(r, k, scope)
		found.Away = found.Missing != ""
	}
	if err != nil && r.Context().Err() == nil && (apierrors.IsTimeout(err) || apierrors.IsForbidden(err)) {
		return Found[T]{Served: true, Missing: "The server cannot read " + k.Resource + " now: " + err.Error() + ".", Away: true}, nil
	}
	if err != nil {
		return Found[T]{}, fmt.Errorf("list %s: %w", k.Resource, err)
	}
	for i := range items {
		if scope.Has(nameOf(&items[i]).GetNamespace()) {
			found.Items = append(found.Items, &items[i])
		}
	}
	slices.SortFunc(found.Items, func(a, b *T) int {
		x, y := nameOf(a), nameOf(b)
		if d := strings.Compare(x.GetNamespace(), y.GetNamespace()); d != 0 {
			return d
		}
		return strings.Compare(x.GetName(), y.GetName())
	})
	return found, nil
}

// read reads all objects of a kind from the watch.
func read[T any](r *site.Request, o *Objects, k Kind[T]) ([]T, error) {
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	list := k.list()
	err := o.cache.List(ctx, list, client.UnsafeDisableDeepCopy)
	return k.items(list), err
}

// readAs lists objects of a kind as the person, where they may, and says if there are more.
func readAs[T any](r *site.Request, k Kind[T], scope access.Scope) (items []T, more string, err error) {
	namespaces := []string{""}
	if !scope.Everywhere() {
		namespaces = scope.Namespaces()
	}
	cut := len(namespaces) > maxNamespaces
	for _, namespace := range namespaces[:min(len(namespaces), maxNamespaces)] {
		list := k.list()
		if err := r.As.Objects.List(r.Context(), list, client.InNamespace(namespace), client.Limit(int64(Most-len(items)))); err != nil {
			return nil, "", err
		}
		items = append(items, k.items(list)...)
		if cut = cut || list.GetContinue() != ""; len(items) >= Most {
			break
		}
	}
	if cut || len(items) >= Most {
		more = fmt.Sprintf("Not all %s are shown: this server may not watch them, so it lists at most %d, in at most %d namespaces.", k.Resource, Most, maxNamespaces)
	}
	return items, more, nil
}

// nameOf is an object of a kind as any object.
func nameOf[T any](o *T) client.Object { return any(o).(client.Object) }

func scopeOf[T any](r *site.Request, k Kind[T]) (access.Scope, error) {
	// Rights to an object without a namespace are never those of a namespace.
	if k.cluster {
		if yes, err := r.Can(access.Right{Verb: "list", Group: k.gvk.Group, Resource: k.Resource}); err != nil || !yes {
			return access.Scope{}, err
		}
	}
	return r.Scope(k.gvk.Group, k.Resource)
}

// Topics are the topics of those kinds whose changes this server hears of.
func (o *Objects) Topics(ctx context.Context, kinds ...Any) []live.Topic {
	var topics []live.Topic
	for _, k := range kinds {
		o.mu.Lock()
		is := o.known[k.id()]
		o.mu.Unlock()
		if is.watched && ctx.Err() == nil {
			topics = append(topics, k.Topic())
		}
	}
	return topics
}

// Watches reports whether this server hears of the changes of a kind.
func (o *Objects) Watches(ctx context.Context, k Any) (bool, error) {
	is, err := o.ask(ctx, k.id(), k.resource())
	return is.watched, err
}

// ask asks the API whether it serves a kind, and lets this server watch it.
func (o *Objects) ask(ctx context.Context, kind schema.GroupVersionKind, resource string) (answer, error) {
	now := o.now()
	o.mu.Lock()
	is, found := o.known[kind]
	o.mu.Unlock()
	// What is watched stays watched.
	if found && (is.watched || now.Before(is.until)) {
		return is, nil
	}
	is = answer{served: true, until: now.Add(remembered)}
	_, err := o.own.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	switch {
	case meta.IsNoMatchError(err):
		is.served = false
	case err != nil:
		return answer{}, fmt.Errorf("ask whether the API serves %s: %w", kind.Kind, err)
	default:
		is.watched, err = o.mayWatch(ctx, kind.Group, resource)
		if err != nil {
			return answer{}, err
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.known[kind] = is
	return is, nil
}

// mayWatch reports whether this server may list and watch a resource: without the right, a watch
// would try for ever.
func (o *Objects) mayWatch(ctx context.Context, group, resource string) (bool, error) {
	for _, verb := range []string{"list", "watch"} {
		review := authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Group: group, Resource: resource}}}
		if err := o.own.Create(ctx, &review); err != nil {
			return false, fmt.Errorf("ask whether this server may %s %s: %w", verb, resource, err)
		}
		if !review.Status.Allowed {
			return false, nil
		}
	}
	return true, nil
}
