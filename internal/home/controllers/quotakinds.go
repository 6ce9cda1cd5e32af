// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	quota "k8s.io/apiserver/pkg/quota/v1"
	corev1informers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/controller/resourcequota"
)

// kindWatch makes the quota controller count a new kind at once. By itself, it looks for kinds in
// intervals, and counts a quota that it has seen before only when everything is recounted. Until a quota's
// usage is counted, the API server refuses every object that it limits.
type kindWatch struct {
	registry quota.Registry
	discover resourcequota.NamespacedResourcesFunc
	// sync follows what is discovered until its context ends.
	sync   func(context.Context)
	quotas *tappedQuotas
	// ignored are kinds that nobody counts.
	ignored map[schema.GroupResource]struct{}
	// kinds tells when a kind comes or changes.
	kinds cache.SharedIndexInformer
	news  chan struct{}
}

// looks are the pauses before each look for a kind that was announced: the API server serves it a moment
// after its definition says so.
var looks = []time.Duration{50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond, 1600 * time.Millisecond, 3200 * time.Millisecond}

// run works until the context ends.
func (w *kindWatch) run(ctx context.Context) {
	w.news = make(chan struct{}, 1)
	announce := func(any) {
		select {
		case w.news <- struct{}{}:
		default: // a look is due anyway, and will see this kind, too
		}
	}
	_, err := w.kinds.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: announce, UpdateFunc: func(_, now any) { announce(now) }})
	end := w.follow(ctx)
	defer func() { end() }()
	for err == nil {
		select {
		case <-ctx.Done():
			return
		case <-w.news:
		}
		for _, pause := range looks {
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
			if w.hasUnknown() {
				// It forgets what it has discovered, discovers anew at once, and keeps the kinds that it counts.
				end()
				end = w.follow(ctx)
			}
			w.recount()
		}
	}
	<-ctx.Done() // the informer has stopped
}

// follow starts to sync, and returns how to end that.
func (w *kindWatch) follow(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() { w.sync(ctx) })
	return func() {
		cancel()
		done.Wait()
	}
}

// hasUnknown reports whether the API serves a kind that nobody counts.
func (w *kindWatch) hasUnknown() bool {
	found, err := resourcequota.GetQuotableResources(w.discover)
	if err != nil {
		return false // the next look may succeed
	}
	for resource := range found {
		if _, never := w.ignored[resource.GroupResource()]; !never && w.registry.Get(resource.GroupResource()) == nil {
			return true
		}
	}
	return false
}

// recount lets the controller count the quotas that limit a kind that it can count now, and has not counted
// yet.
func (w *kindWatch) recount() {
	all, err := w.quotas.Lister().List(labels.Everything())
	if err != nil {
		return // a cache has no errors
	}
	for _, q := range all {
		for name := range q.Status.Hard {
			if _, counted := q.Status.Used[name]; !counted && w.counts(name) {
				w.quotas.again(q)
				break
			}
		}
	}
}

// counts reports whether the controller can count what count/buckets.apps.cozystack.io limits.
func (w *kindWatch) counts(name corev1.ResourceName) bool {
	object, is := strings.CutPrefix(string(name), "count/")
	return is && w.registry.Get(schema.ParseGroupResource(object)) != nil
}

// tappedQuotas keeps the handler of the quota controller, which says nothing when its quotas are to be
// counted again.
type tappedQuotas struct {
	corev1informers.ResourceQuotaInformer
	handler atomic.Pointer[cache.ResourceEventHandler]
}

// Informer implements corev1informers.ResourceQuotaInformer.
func (t *tappedQuotas) Informer() cache.SharedIndexInformer {
	return tappedInformer{t.ResourceQuotaInformer.Informer(), t}
}

// again tells the handler that a quota is there.
func (t *tappedQuotas) again(q *corev1.ResourceQuota) {
	if handler := t.handler.Load(); handler != nil {
		(*handler).OnAdd(q, false)
	}
}

type tappedInformer struct {
	cache.SharedIndexInformer
	to *tappedQuotas
}

// AddEventHandlerWithResyncPeriod implements cache.SharedInformer.
func (t tappedInformer) AddEventHandlerWithResyncPeriod(handler cache.ResourceEventHandler, resync time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	t.to.handler.Store(&handler)
	return t.SharedIndexInformer.AddEventHandlerWithResyncPeriod(handler, resync)
}
