// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
)

// Watch follows the metadata of the objects that Kustomizations own.
type Watch struct {
	// base ends all informers.
	base    context.Context
	client  metadata.Interface
	mapper  meta.RESTMapper
	changed func(owner Owner, id ID, now *metav1.PartialObjectMetadata)

	mu    sync.Mutex
	kinds map[schema.GroupKind]*followed
}

// followed is a kind with its informer.
type followed struct {
	informer cache.SharedIndexInformer
	stop     context.CancelFunc
	users    map[Owner]bool
}

// NewWatch makes a watch whose informers end with ctx. changed is told of every change of an owned object, now being nil
// when it is gone; it must not block.
func NewWatch(ctx context.Context, client metadata.Interface, mapper meta.RESTMapper,
	changed func(owner Owner, id ID, now *metav1.PartialObjectMetadata)) *Watch {
	return &Watch{base: ctx, client: client, mapper: mapper, changed: changed, kinds: map[schema.GroupKind]*followed{}}
}

// syncTimeout is how long the first list of a kind may take.
const syncTimeout = 30 * time.Second

// Follow makes sure that kinds are watched for an owner, and returns when all that there is of them is known.
func (w *Watch) Follow(ctx context.Context, owner Owner, kinds map[schema.GroupKind]string) error {
	ctx, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	for kind, version := range kinds {
		f, err := w.follow(owner, kind, version)
		if err != nil {
			return err
		}
		if err := waitFor(ctx, f.informer.HasSynced); err != nil {
			w.leave(owner, kind)
			return fmt.Errorf("watch the objects of kind %s: the API has not listed them: %w", kind, err)
		}
	}
	return nil
}

func (w *Watch) follow(owner Owner, kind schema.GroupKind, version string) (*followed, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f := w.kinds[kind]; f != nil {
		f.users[owner] = true
		return f, nil
	}
	mapping, err := w.mapper.RESTMapping(kind, version)
	if err != nil {
		return nil, err
	}
	informer := metadatainformer.NewFilteredMetadataInformer(w.client, mapping.Resource, metav1.NamespaceAll, 0, cache.Indexers{},
		func(o *metav1.ListOptions) { o.LabelSelector = labelName }).Informer()
	if err := informer.SetTransform(strip); err != nil {
		return nil, fmt.Errorf("watch the objects of kind %s: %w", kind, err)
	}
	if _, err := informer.AddEventHandler(w.handler(kind)); err != nil {
		return nil, fmt.Errorf("watch the objects of kind %s: %w", kind, err)
	}
	ctx, stop := context.WithCancel(w.base)
	f := &followed{informer: informer, stop: stop, users: map[Owner]bool{owner: true}}
	w.kinds[kind] = f
	go informer.RunWithContext(ctx)
	return f, nil
}

// strip keeps what prints are made of.
func strip(o any) (any, error) {
	if m, ok := o.(*metav1.PartialObjectMetadata); ok {
		m.ManagedFields, m.OwnerReferences, m.Finalizers = nil, nil, nil
	}
	return o, nil
}

func (w *Watch) handler(kind schema.GroupKind) cache.ResourceEventHandler {
	tell := func(o any, gone bool) {
		if tomb, ok := o.(cache.DeletedFinalStateUnknown); ok {
			o = tomb.Obj
		}
		m, ok := o.(*metav1.PartialObjectMetadata)
		if !ok {
			return
		}
		owner, owned := OwnerOf(m)
		if !owned {
			return
		}
		id := ID{GroupKind: kind, Namespace: m.Namespace, Name: m.Name}
		if gone {
			m = nil
		}
		w.changed(owner, id, m)
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { tell(o, false) },
		UpdateFunc: func(old, now any) {
			// Who lost the object has to hear of it, too.
			if was, ok := old.(*metav1.PartialObjectMetadata); ok {
				if is, ok := now.(*metav1.PartialObjectMetadata); ok && (was.Labels[labelName] != is.Labels[labelName] || was.Labels[labelNamespace] != is.Labels[labelNamespace]) {
					tell(was, true)
				}
			}
			tell(now, false)
		},
		DeleteFunc: func(o any) { tell(o, true) },
	}
}

// Keep says that an owner has objects of these kinds only. What nobody has is watched no longer.
func (w *Watch) Keep(owner Owner, kinds map[schema.GroupKind]string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for kind, f := range w.kinds {
		if _, ok := kinds[kind]; !ok && f.users[owner] {
			w.drop(owner, kind, f)
		}
	}
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

// Get returns the metadata of an object that some Kustomization owns, and how far its kind is known; nil when there is
// none. It must not be changed.
func (w *Watch) Get(id ID) (m *metav1.PartialObjectMetadata, known string) {
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
	// Not what the informer has heard of last: that may not have reached its store, and what is missing there would look
	// deleted.
	known = f.informer.GetStore().LastStoreSyncResourceVersion()
	o, ok, err := f.informer.GetStore().GetByKey(key)
	if err != nil || !ok {
		return nil, known
	}
	m, _ = o.(*metav1.PartialObjectMetadata)
	return m, known
}

// AsLeft tells whether an object is as a print says. What the watch has not heard of yet is taken as it was left: it will
// be told.
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

// waitFor asks until it is so.
func waitFor(ctx context.Context, so func() bool) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}
