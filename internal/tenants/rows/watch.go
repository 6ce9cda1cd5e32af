// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// leastPause is between two signals of one source: who writes a thousand rows one by one causes a
// few readings.
const leastPause = 200 * time.Millisecond

// life is that of a source: what watches on its behalf ends with it.
type life struct {
	ctx    context.Context
	cancel context.CancelFunc
	// mu keeps watches from beginning while the end waits for those that there are.
	mu      sync.Mutex
	ended   bool
	watches sync.WaitGroup
	// deaf is why nobody can watch; nil when somebody does, or has not tried yet.
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

// bind makes a context end with the life. The function ends it in any case.
func (l *life) bind(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	unlink := context.AfterFunc(l.ctx, cancel)
	if l.ctx.Err() != nil {
		cancel() // at once, and not a moment later
	}
	return ctx, func() {
		unlink()
		cancel()
	}
}

// deafness is why nobody can watch, if so.
func (l *life) deafness() string {
	if why := l.deaf.Load(); why != nil {
		return *why
	}
	return ""
}

// watch runs a watcher until the context or the life ends, and hands on what it tells, not too
// often. The last change is never lost: a signal that nobody has taken yet stands for all later
// ones.
func (l *life) watch(ctx context.Context, watcher func(ctx context.Context, changed chan<- struct{})) <-chan struct{} {
	told := make(chan struct{}, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		watcher(l.ctx, make(chan struct{}, 1)) // it only tidies up
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

// signal leaves word in a channel that has room for one.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// pause waits; it tells whether the context is still alive.
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
