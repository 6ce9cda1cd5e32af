// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package receive

import (
	"context"
	"sync"
)

// turns lets each namespace do so many things at a time: what a namespace's receivers take long for makes only its own
// hooks wait.
type turns struct {
	each int

	mu sync.Mutex
	of map[string]*turn
}

// turn is a namespace's places, and how many have one or wait for one.
type turn struct {
	places chan struct{}
	users  int
}

func newTurns(each int) *turns { return &turns{each: each, of: map[string]*turn{}} }

// take waits for a place of the namespace until ctx ends. Without an error the caller gives the place back.
func (t *turns) take(ctx context.Context, namespace string) (giveBack func(), err error) {
	t.mu.Lock()
	one := t.of[namespace]
	if one == nil {
		one = &turn{places: make(chan struct{}, t.each)}
		t.of[namespace] = one
	}
	one.users++
	t.mu.Unlock()
	select {
	case one.places <- struct{}{}:
		return func() { <-one.places; t.leave(namespace, one) }, nil
	case <-ctx.Done():
		t.leave(namespace, one)
		return nil, context.Cause(ctx)
	}
}

func (t *turns) leave(namespace string, one *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one.users--; one.users == 0 {
		delete(t.of, namespace)
	}
}
