// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Topic is what a page shows: the objects of a kind, perhaps only those of a namespace or one.
type Topic struct {
	// Kind is an empty object of the kind, such as &infrav1.Terraform{}.
	Kind            client.Object
	Namespace, Name string
	// Watch watches the one object for this subscriber alone; nil to share the watch of its kind. It is
	// for kinds that come and go.
	Watch func(ctx context.Context) (watch.Interface, error)
}

// Hub tells subscribers of changes.
type Hub struct {
	informers cache.Informers
	changes   atomic.Uint64

	// watching is held while a watch of a kind begins, which may take requests.
	watching sync.Mutex
	// watched are the kinds whose changes arrive.
	watched map[string]bool

	mu   sync.Mutex
	subs map[*Subscription]bool
}

// Subscription is one subscriber. Close ends it.
type Subscription struct {
	// C gets a value when something has changed since the last one was taken.
	C      <-chan struct{}
	wake   chan struct{}
	topics []topic
	hub    *Hub
	fresh  bool
	stop   context.CancelFunc
}

type topic struct{ kind, namespace, name string }

// New returns a hub for the watches of informers.
func New(informers cache.Informers) *Hub {
	return &Hub{informers: informers, subs: map[*Subscription]bool{}, watched: map[string]bool{}}
}

// Subscribe subscribes to topics.
func (h *Hub) Subscribe(ctx context.Context, topics []Topic) (*Subscription, error) {
	wake := make(chan struct{}, 1)
	ctx, stop := context.WithCancel(ctx)
	s := &Subscription{C: wake, wake: wake, hub: h, topics: topicsOf(topics), fresh: true, stop: stop}
	for i, t := range topics {
		if t.Watch != nil {
			go s.own(ctx, t.Watch)
			continue
		}
		if err := h.watch(ctx, s.topics[i].kind, t.Kind); err != nil {
			stop()
			return nil, err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.subs[s] = true
	return s, nil
}

// Close ends the subscription.
func (s *Subscription) Close() {
	s.stop()
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	delete(s.hub.subs, s)
}

// rewatch is the pause before a watch that has ended begins again.
const rewatch = 5 * time.Second

// own wakes the subscriber when its own watch tells of something, until ctx ends. Each beginning is
// told, too: nobody knows what happened before.
func (s *Subscription) own(ctx context.Context, begin func(context.Context) (watch.Interface, error)) {
	for ctx.Err() == nil {
		if w, err := begin(ctx); err == nil {
			s.heard()
			for range w.ResultChan() {
				s.heard()
			}
			w.Stop()
		}
		select {
		case <-ctx.Done():
		case <-time.After(rewatch):
		}
	}
}

// heard counts a change, so that nothing made before it is shown again, and wakes the subscriber.
func (s *Subscription) heard() {
	s.hub.changes.Add(1)
	s.tell()
}

// tell wakes the subscriber, without waiting: one that has not looked yet will see this, too.
func (s *Subscription) tell() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Covers reports whether the subscription is to exactly these topics.
func (s *Subscription) Covers(topics []Topic) bool { return slices.Equal(s.topics, topicsOf(topics)) }

// Fresh reports, the first time, that the subscription is new.
func (s *Subscription) Fresh() bool {
	fresh := s.fresh
	s.fresh = false
	return fresh
}

// Changes counts the changes that the hub has heard of.
func (h *Hub) Changes() uint64 { return h.changes.Load() }

func topicsOf(topics []Topic) []topic {
	list := make([]topic, 0, len(topics))
	for _, t := range topics {
		list = append(list, topic{kindOf(t.Kind), t.Namespace, t.Name})
	}
	return list
}

// kindOf names a kind: objects without a Go type of their own say what they are.
func kindOf(o client.Object) string {
	if kind := o.GetObjectKind().GroupVersionKind(); !kind.Empty() {
		return fmt.Sprintf("%T %s", o, kind)
	}
	return fmt.Sprintf("%T", o)
}

// watch makes the changes of a kind arrive.
func (h *Hub) watch(ctx context.Context, kind string, empty client.Object) error {
	h.watching.Lock()
	defer h.watching.Unlock()
	if h.watched[kind] {
		return nil
	}
	informer, err := h.informers.GetInformer(ctx, empty, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch %s: %w", kind, err)
	}
	tell := func(object any) {
		if gone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		if o, ok := object.(client.Object); ok {
			h.publish(kind, o.GetNamespace(), o.GetName())
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: tell, UpdateFunc: func(before, after any) {
			if changed(before, after) {
				tell(after)
			}
		}, DeleteFunc: tell,
	})
	if err != nil {
		return fmt.Errorf("watch %s: %w", kind, err)
	}
	h.watched[kind] = true
	return nil
}

// changed reports whether an update is one: informers repeat what they know from time to time.
func changed(before, after any) bool {
	a, ok := before.(client.Object)
	b, fine := after.(client.Object)
	return !ok || !fine || a.GetResourceVersion() != b.GetResourceVersion()
}

func (h *Hub) publish(kind, namespace, name string) {
	h.changes.Add(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subs {
		if s.wants(kind, namespace, name) {
			s.tell()
		}
	}
}

func (s *Subscription) wants(kind, namespace, name string) bool {
	for _, t := range s.topics {
		if t.kind == kind && (t.namespace == "" || t.namespace == namespace) && (t.name == "" || t.name == name) {
			return true
		}
	}
	return false
}
