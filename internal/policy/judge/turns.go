// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// atOnce limits the judgements at a time: each has a plan and its facts in memory, and half of the
	// workers that reconcile stacks must be free for others.
	atOnce = 4
	// placeKept is how long a namespace that was sent away keeps its place in the queue. It comes back
	// sooner, if it still wants a turn.
	placeKept = 3 * time.Second
)

// Turns shares the time for judgements between namespaces. It is safe for concurrent use; the zero
// value is ready.
type Turns struct {
	mu   sync.Mutex
	held map[string]int
	all  int
	// queue has the namespaces that were sent away, in the order in which they came.
	queue []place
	// freed is closed when a turn ends; nil if nobody waits for that.
	freed chan struct{}
}

type place struct {
	namespace string
	alone     bool
	asked     time.Time
}

// Take takes a turn if there is one: ok. An alone namespace has one turn at a time. Those that were
// sent away before come first.
func (t *Turns) Take(namespace string, alone bool, now time.Time) (done func(), ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queue = slices.DeleteFunc(t.queue, func(p place) bool { return now.Sub(p.asked) > placeKept })
	at := slices.IndexFunc(t.queue, func(p place) bool { return p.namespace == namespace })
	ahead := 0
	for i, p := range t.queue {
		if (at < 0 || i < at) && t.may(p.namespace, p.alone) {
			ahead++
		}
	}
	if !t.may(namespace, alone) || ahead >= atOnce-t.all {
		if at < 0 {
			t.queue = append(t.queue, place{namespace: namespace})
			at = len(t.queue) - 1
		}
		t.queue[at].alone, t.queue[at].asked = alone, now
		return nil, false
	}
	if at >= 0 {
		t.queue = slices.Delete(t.queue, at, at+1)
	}
	if t.held == nil {
		t.held = map[string]int{}
	}
	t.held[namespace]++
	t.all++
	return sync.OnceFunc(func() { t.end(namespace) }), true
}

func (t *Turns) may(namespace string, alone bool) bool { return !alone || t.held[namespace] == 0 }

func (t *Turns) end(namespace string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all--; t.held[namespace] > 1 {
		t.held[namespace]--
	} else {
		delete(t.held, namespace)
	}
	if t.freed != nil {
		close(t.freed)
		t.freed = nil
	}
}

// Wait waits for a turn.
func (t *Turns) Wait(ctx context.Context, namespace string, alone bool) (done func(), err error) {
	again := time.NewTicker(placeKept / 3) // keeps the place
	defer again.Stop()
	for {
		freed := t.next()
		if done, ok := t.Take(namespace, alone, time.Now()); ok {
			return done, nil
		}
		select {
		case <-freed:
		case <-again.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// next returns a channel that the end of the next turn closes.
func (t *Turns) next() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.freed == nil {
		t.freed = make(chan struct{})
	}
	return t.freed
}
