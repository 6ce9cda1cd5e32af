// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"context"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// share is how many workers a namespace may have: those of the others stay free if its stores do not answer.
const share = 2

// turns give each namespace its share of the workers of a controller. The requests of a namespace that has its share
// wait without a worker, and are queued again in their order. Invariant: as long as requests of a namespace wait, one
// of it is being reconciled or is queued.
type turns struct {
	mu      sync.Mutex
	working map[string]int
	waiting map[string][]ctrl.Request
	again   chan event.GenericEvent
}

func newTurns() *turns {
	return &turns{working: map[string]int{}, waiting: map[string][]ctrl.Request{}, again: make(chan event.GenericEvent)}
}

// source queues requests again.
func (t *turns) source() source.Source {
	return source.Channel(t.again, &handler.EnqueueRequestForObject{})
}

// fair reconciles at most share requests of a namespace at a time. Requests without a namespace are not limited:
// administrators make their objects.
func (t *turns) fair(do reconcile.Func) reconcile.Func {
	return func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
		if req.Namespace == "" {
			return do(ctx, req)
		}
		if !t.take(req) {
			return ctrl.Result{}, nil
		}
		defer t.give(ctx, req.Namespace)
		return do(ctx, req)
	}
}

func (t *turns) take(req ctrl.Request) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.working[req.Namespace] < share {
		t.working[req.Namespace]++
		return true
	}
	if !slices.Contains(t.waiting[req.Namespace], req) {
		t.waiting[req.Namespace] = append(t.waiting[req.Namespace], req)
	}
	return false
}

// give ends a turn, and queues the request that waits longest.
func (t *turns) give(ctx context.Context, namespace string) {
	next, ok := t.end(namespace)
	if !ok {
		return
	}
	o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: next.Namespace, Name: next.Name}}
	select {
	case t.again <- event.GenericEvent{Object: client.Object(o)}:
	case <-ctx.Done(): // the server ends
	}
}

func (t *turns) end(namespace string) (next ctrl.Request, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.working[namespace]--; t.working[namespace] == 0 {
		delete(t.working, namespace)
	}
	waiting := t.waiting[namespace]
	if len(waiting) == 0 {
		return next, false
	}
	next = waiting[0]
	if t.waiting[namespace] = waiting[1:]; len(waiting) == 1 {
		delete(t.waiting, namespace)
	}
	return next, true
}
