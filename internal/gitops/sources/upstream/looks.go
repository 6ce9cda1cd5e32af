// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// defaultCapacity is how many answers are remembered.
const defaultCapacity = 4096

// Looks shares looks. Its zero value is ready; it must not be copied.
type Looks[T any] struct {
	// Capacity is how many answers are remembered; 4096 if it is not set.
	Capacity int
	// Worth says which answers are remembered, all of them if it is not set. Others are only for
	// those who wait for them.
	Worth func(T) bool

	mu      sync.Mutex
	entries map[string]*entry[T]
}

// Options say what kind of answer is wanted.
type Options struct {
	// MaxAge is how old an answer may be. The time counts from when its look began.
	MaxAge time.Duration
	// Timeout bounds a look. It goes on when who began it has left: others may have joined.
	Timeout time.Duration
	// Fresh asks for a look that begins now or later.
	Fresh bool
}

// Ask is a look: it is given the answer of the last look that succeeded, if that is still
// remembered.
type Ask[T any] func(ctx context.Context, last *T) (T, error)

type entry[T any] struct {
	last  *T
	began time.Time // when the look of last began
	// current is under way; next waits for it to end, for those who need one that begins later.
	current, next *flight[T]
}

type flight[T any] struct {
	ask     Ask[T]
	timeout time.Duration
	done    chan struct{}
	value   T
	err     error
}

// Look answers from memory, joins a look that is under way, or asks. Failures are not remembered.
func (l *Looks[T]) Look(ctx context.Context, key string, o Options, ask Ask[T]) (T, error) {
	f, known := l.join(ctx, key, o, ask)
	if known != nil {
		return *known, nil
	}
	select {
	case <-f.done:
		return f.value, f.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

// Forget makes sure that the next look asks: the last answer turned out to hold no longer.
func (l *Looks[T]) Forget(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.entries[key]; e != nil {
		e.last = nil
	}
}

// join finds the answer, or the look that will have it.
func (l *Looks[T]) join(ctx context.Context, key string, o Options, ask Ask[T]) (*flight[T], *T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entry(key)
	if !o.Fresh && e.last != nil && time.Since(e.began) < o.MaxAge {
		return nil, e.last
	}
	if e.current != nil && !o.Fresh {
		return e.current, nil
	}
	f := &flight[T]{ask: ask, timeout: o.Timeout, done: make(chan struct{})}
	if e.current != nil {
		if e.next == nil {
			e.next = f
		}
		return e.next, nil
	}
	e.current = f
	go l.fly(context.WithoutCancel(ctx), e)
	return f, nil
}

// fly carries out looks until nobody waits for another.
func (l *Looks[T]) fly(ctx context.Context, e *entry[T]) {
	for {
		l.mu.Lock()
		f, last, began := e.current, e.last, time.Now()
		l.mu.Unlock()
		f.value, f.err = f.run(ctx, last)
		l.mu.Lock()
		if f.err == nil && (l.Worth == nil || l.Worth(f.value)) {
			e.last, e.began = &f.value, began
		}
		e.current, e.next = e.next, nil
		more := e.current != nil
		l.mu.Unlock()
		close(f.done)
		if !more {
			return
		}
	}
}

// run asks. What upstreams send is hostile; should a parser of it panic, that ends this look and
// not the server.
func (f *flight[T]) run(ctx context.Context, last *T) (value T, err error) {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("look at an upstream: panic: %v. This is a bug in Yuba", p)
		}
	}()
	return f.ask(ctx, last)
}

// entry finds the entry of a key, and makes room for a new one by forgetting the oldest.
func (l *Looks[T]) entry(key string) *entry[T] {
	if e, ok := l.entries[key]; ok {
		return e
	}
	if l.entries == nil {
		l.entries = map[string]*entry[T]{}
	}
	capacity := l.Capacity
	if capacity == 0 {
		capacity = defaultCapacity
	}
	if len(l.entries) >= capacity {
		oldest := ""
		for k, e := range l.entries {
			if e.current == nil && (oldest == "" || e.began.Before(l.entries[oldest].began)) {
				oldest = k
			}
		}
		delete(l.entries, oldest)
	}
	e := &entry[T]{}
	l.entries[key] = e
	return e
}
