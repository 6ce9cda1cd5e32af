// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package owned

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
)

// Options configure a watch.
type Options struct {
	// Metadata reads the API's metadata, Objects whole objects; only Look needs the latter.
	Metadata metadata.Interface
	Objects  dynamic.Interface
	Mapper   meta.RESTMapper
	// Selector selects the owned objects by label.
	Selector string
	// Owners returns the owners that an object belongs to, or concerns.
	Owners func(id ID, o metav1.Object) []Owner
	// Changed is called for every change; now is nil if the object is gone or no longer concerns
	// the owner. It must not block.
	Changed func(owner Owner, id ID, now *metav1.PartialObjectMetadata)
	// Look returns the function that makes a look of an object of a kind, without keeping the
	// object; nil for kinds of which only metadata matter.
	Look func(kind schema.GroupKind) func(*unstructured.Unstructured) any
	// WithOwnerReferences keeps the owner references, for Owners.
	WithOwnerReferences bool
}

// Watch follows the metadata of owned objects.
type Watch struct {
	// base ends all informers.
	base context.Context
	opts Options

	mu    sync.Mutex
	kinds map[schema.GroupKind]*followed
}

// followed is a kind with its informer.
type followed struct {
	version  string
	informer cache.SharedIndexInformer
	stop     context.CancelFunc
	users    map[Owner]bool
	// trouble is the last error of listing or watching it.
	trouble atomic.Pointer[error]
}

// refused reports whether the API will never list a kind. NotFound does not count: the kind may
// have been defined a moment ago.
func (f *followed) refused() bool {
	at := f.trouble.Load()
	return at != nil && (apierrors.IsForbidden(*at) || apierrors.IsMethodNotSupported(*at))
}

// outdated reports whether a kind is watched in a version that the API no longer has.
func (f *followed) outdated(version string) bool {
	at := f.trouble.Load()
	return f.version != version && at != nil && apierrors.IsNotFound(*at)
}

// UnwatchedError lists the kinds that could not be watched.
type UnwatchedError struct{ Kinds map[schema.GroupKind]error }

func (e *UnwatchedError) Error() string {
	kinds := slices.SortedFunc(maps.Keys(e.Kinds), func(a, b schema.GroupKind) int { return strings.Compare(a.String(), b.String()) })
	texts := make([]string, len(kinds))
	for i, kind := range kinds {
		texts[i] = fmt.Sprintf("watch the objects of kind %s: %v", kind, e.Kinds[kind])
	}
	return strings.Join(texts, "; ")
}

// Unwrap returns the errors of all kinds.
func (e *UnwatchedError) Unwrap() []error { return slices.Collect(maps.Values(e.Kinds)) }

// kept is an object with its look.
type kept struct {
	metav1.PartialObjectMetadata
	look any
}

// NewWatch returns a watch whose informers end with ctx.
func NewWatch(ctx context.Context, opts Options) *Watch {
	return &Watch{base: ctx, opts: opts, kinds: map[schema.GroupKind]*followed{}}
}

const (
	// syncTimeout limits the first list of a kind.
	syncTimeout = 30 * time.Second
	pollEvery   = 5 * time.Millisecond
)

// Follow watches kinds for an owner, and returns when all their objects are known. It returns an
// *UnwatchedError; the kinds that it does not name are watched.
func (w *Watch) Follow(ctx context.Context, owner Owner, kinds map[schema.GroupKind]string) error {
	ctx, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	unwatched := map[schema.GroupKind]error{}
	started := map[schema.GroupKind]*followed{}
	for kind, version := range kinds {
		f, err := w.follow(owner, kind, version)
		switch {
		case err != nil:
			unwatched[kind] = err
		case !f.informer.HasSynced():
			started[kind] = f
		}
	}
	for kind, f := range started {
		if err := f.await(ctx); err != nil {
			w.leave(owner, kind)
			unwatched[kind] = err
		}
	}
	if len(unwatched) > 0 {
		return &UnwatchedError{Kinds: unwatched}
	}
	return nil
}

// await waits until all objects of a kind are known, or never will be.
func (f *followed) await(ctx context.Context) error {
	err := wait.PollUntilContextCancel(ctx, pollEvery, true, func(context.Context) (bool, error) {
		return f.informer.HasSynced() || f.refused(), nil
	})
	if err == nil && f.informer.HasSynced() {
		return nil
	}
	if trouble := f.trouble.Load(); trouble != nil {
		err = *trouble
	}
	return fmt.Errorf("the API has not listed them: %w", err)
}

func (w *Watch) follow(owner Owner, kind schema.GroupKind, version string) (*followed, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	users := map[Owner]bool{owner: true}
	if f := w.kinds[kind]; f != nil {
		f.users[owner] = true
		if !f.outdated(version) {
			return f, nil
		}
		users = f.users
	}
	mapping, err := w.opts.Mapper.RESTMapping(kind, version)
	if err != nil {
		return nil, err
	}
	informer := w.informer(mapping.Resource, kind)
	if err := informer.SetTransform(w.shrink(kind)); err != nil {
		return nil, fmt.Errorf("prepare for objects: %w", err)
	}
	if _, err := informer.AddEventHandler(w.handler(kind)); err != nil {
		return nil, fmt.Errorf("prepare for changes: %w", err)
	}
	ctx, stop := context.WithCancel(w.base)
	f := &followed{version: version, informer: informer, stop: stop, users: users}
	err = informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		f.trouble.Store(&err)
		cache.DefaultWatchErrorHandler(ctx, r, err)
	})
	if err != nil {
		stop()
		return nil, fmt.Errorf("prepare for errors: %w", err)
	}
	if old := w.kinds[kind]; old != nil {
		old.stop()
	}
	w.kinds[kind] = f
	go informer.RunWithContext(ctx)
	return f, nil
}

func (w *Watch) informer(resource schema.GroupVersionResource, kind schema.GroupKind) cache.SharedIndexInformer {
	selected := func(o *metav1.ListOptions) { o.LabelSelector = w.opts.Selector }
	if w.looker(kind) != nil {
		return dynamicinformer.NewFilteredDynamicInformer(w.opts.Objects, resource, metav1.NamespaceAll, 0, cache.Indexers{}, selected).Informer()
	}
	return metadatainformer.NewFilteredMetadataInformer(w.opts.Metadata, resource, metav1.NamespaceAll, 0, cache.Indexers{}, selected).Informer()
}

func (w *Watch) looker(kind schema.GroupKind) func(*unstructured.Unstructured) any {
	if w.opts.Look == nil {
		return nil
	}
	return w.opts.Look(kind)
}

// shrink keeps metadata for prints, and the look. It may see its own result again.
func (w *Watch) shrink(kind schema.GroupKind) cache.TransformFunc {
	look := w.looker(kind)
	return func(o any) (any, error) {
		switch o := o.(type) {
		case *metav1.PartialObjectMetadata:
			w.strip(&o.ObjectMeta)
		case *unstructured.Unstructured:
			k := &kept{PartialObjectMetadata: metav1.PartialObjectMetadata{ObjectMeta: metadataOf(o)}, look: look(o)}
			k.SetGroupVersionKind(o.GroupVersionKind())
			w.strip(&k.ObjectMeta)
			return k, nil
		}
		return o, nil
	}
}

func (w *Watch) strip(m *metav1.ObjectMeta) {
	m.ManagedFields, m.Finalizers = nil, nil
	if !w.opts.WithOwnerReferences {
		m.OwnerReferences = nil
	}
}

// metadataOf copies the kept parts of an object's metadata.
func metadataOf(u *unstructured.Unstructured) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: u.GetName(), Namespace: u.GetNamespace(), UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(),
		Generation: u.GetGeneration(), CreationTimestamp: u.GetCreationTimestamp(), DeletionTimestamp: u.GetDeletionTimestamp(),
		Labels: u.GetLabels(), Annotations: u.GetAnnotations(), OwnerReferences: u.GetOwnerReferences()}
}

// metadataIn returns the metadata of an informer's object; nil for others.
func metadataIn(o any) *metav1.PartialObjectMetadata {
	switch o := o.(type) {
	case *metav1.PartialObjectMetadata:
		return o
	case *kept:
		return &o.PartialObjectMetadata
	}
	return nil
}

func (w *Watch) handler(kind schema.GroupKind) cache.ResourceEventHandler {
	owners := func(o any) (ID, []Owner, *metav1.PartialObjectMetadata) {
		if tomb, ok := o.(cache.DeletedFinalStateUnknown); ok {
			o = tomb.Obj
		}
		m := metadataIn(o)
		if m == nil {
			return ID{}, nil, nil
		}
		id := ID{GroupKind: kind, Namespace: m.Namespace, Name: m.Name}
		return id, w.opts.Owners(id, m), m
	}
	tell := func(o any, gone bool) {
		id, list, m := owners(o)
		if gone {
			m = nil
		}
		for _, owner := range list {
			w.opts.Changed(owner, id, m)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { tell(o, false) },
		UpdateFunc: func(old, now any) {
			// An owner that lost the object must learn that, too.
			id, before, _ := owners(old)
			_, after, _ := owners(now)
			for _, owner := range before {
				if !slices.Contains(after, owner) {
					w.opts.Changed(owner, id, nil)
				}
			}
			tell(now, false)
		},
		DeleteFunc: func(o any) { tell(o, true) },
	}
}

// Keep stops watching all other kinds for an owner.
func (w *Watch) Keep(owner Owner, kinds map[schema.GroupKind]string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for kind, f := range w.kinds {
		if _, ok := kinds[kind]; !ok && f.users[owner] {
			w.drop(owner, kind, f)
		}
	}
}

// Follows reports whether a kind is watched.
func (w *Watch) Follows(kind schema.GroupKind) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.kinds[kind] != nil
}

func (w *Watch) leave(owner Owner, kind schema.GroupKind) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f := w.kinds[kind]; f != nil {
		w.drop(owner, kind, f)
	}
}

func (w *Watch) drop(owner Owner, kind schema.GroupKind, f *followed) {
	delete(f.users, owner)
	if len(f.users) == 0 {
		f.stop()
		delete(w.kinds, kind)
	}
}

// find returns a kept object, nil for none, and the version up to which its kind is known.
func (w *Watch) find(id ID) (o any, known string) {
	w.mu.Lock()
	f := w.kinds[id.GroupKind]
	w.mu.Unlock()
	if f == nil {
		return nil, ""
	}
	key := id.Name
	if id.Namespace != "" {
		key = id.Namespace + "/" + id.Name
	}
	// The informer's last version may not be in its store yet; a new object would look deleted.
	known = f.informer.GetStore().LastStoreSyncResourceVersion()
	o, ok, err := f.informer.GetStore().GetByKey(key)
	if err != nil || !ok {
		return nil, known
	}
	return o, known
}

// Get returns the metadata of an owned object, nil for none, and the version up to which its kind
// is known. Do not change it.
func (w *Watch) Get(id ID) (m *metav1.PartialObjectMetadata, known string) {
	o, known := w.find(id)
	return metadataIn(o), known
}

// Look returns the metadata of an owned object and its look; nil for none. Do not change them.
func (w *Watch) Look(id ID) (m *metav1.PartialObjectMetadata, look any) {
	o, _ := w.find(id)
	if k, ok := o.(*kept); ok {
		look = k.look
	}
	return metadataIn(o), look
}

// Each calls f with the metadata of all objects of a kind and their looks. Do not change them.
func (w *Watch) Each(kind schema.GroupKind, f func(m *metav1.PartialObjectMetadata, look any)) {
	w.mu.Lock()
	at := w.kinds[kind]
	w.mu.Unlock()
	if at == nil {
		return
	}
	for _, o := range at.informer.GetStore().List() {
		if m := metadataIn(o); m != nil {
			k, _ := o.(*kept)
			if k == nil {
				f(m, nil)
				continue
			}
			f(m, k.look)
		}
	}
}

// AsLeft reports whether an object still has a print. If the watch does not know that version yet,
// it assumes so, and Changed follows.
func (w *Watch) AsLeft(id ID, left Print) bool {
	now, known := w.Get(id)
	if known == "" {
		return false
	}
	if now == nil {
		return Older(known, left.Version)
	}
	return Older(now.ResourceVersion, left.Version) || left.Same(PrintOf(now))
}
