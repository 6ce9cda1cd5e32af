// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// leastPause is the pause between two signals of one source, so that a thousand single writes cause
// only a few readings.
const leastPause = 200 * time.Millisecond

// life ends with a source, and ends its watches.
type life struct {
	ctx    context.Context
	cancel context.CancelFunc
	// mu prevents new watches while end waits for the existing ones.
	mu      sync.Mutex
	ended   bool
	watches sync.WaitGroup
	// deaf is why the source cannot be watched; nil if it is, or no attempt was made.
	deaf atomic.Pointer[string]
}

func newLife() *life {
	ctx, cancel := context.WithCancel(context.Background())
	return &life{ctx: ctx, cancel: cancel}
}

// end ends all watches and waits for them.
func (l *life) end() {
	l.cancel()
	l.mu.Lock()
	l.ended = true
	l.mu.Unlock()
	l.watches.Wait()
}

// bind returns a context that ends with the life, or with the returned function.
func (l *life) bind(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	unlink := context.AfterFunc(l.ctx, cancel)
	if l.ctx.Err() != nil {
		cancel() // AfterFunc would do it asynchronously
	}
	return ctx, func() {
		unlink()
		cancel()
	}
}

// deafness is why the source cannot be watched; empty if it can be.
func (l *life) deafness() string {
	if why := l.deaf.Load(); why != nil {
		return *why
	}
	return ""
}

// watch runs a watcher until the context or the life ends, and forwards its signals, not too often.
// The last change is never lost: a pending signal covers all later ones.
func (l *life) watch(ctx context.Context, watcher func(ctx context.Context, changed chan<- struct{})) <-chan struct{} {
	told := make(chan struct{}, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		watcher(l.ctx, make(chan struct{}, 1)) // the watcher only cleans up
		close(told)
		return told
	}
	ctx, cancel := l.bind(ctx)
	changed := make(chan struct{}, 1)
	l.watches.Add(2)
	go func() {
		defer l.watches.Done()
		watcher(ctx, changed)
	}()
	go func() {
		defer l.watches.Done()
		defer cancel()
		defer close(told)
		for {
			select {
			case <-ctx.Done():
				return
			case <-changed:
				signal(told)
			}
			if !pause(ctx, leastPause) {
				return
			}
		}
	}()
	return told
}

// signal sends to a channel unless a signal is pending.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// pause waits. It reports whether the context is still alive.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
