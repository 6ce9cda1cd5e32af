// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"
)

// defaultCapacity is the default number of remembered answers.
const defaultCapacity = 4096

// Looks shares looks. Its zero value is ready; it must not be copied.
type Looks[T any] struct {
	// Capacity is the maximum number of remembered answers; the default is 4096.
	Capacity int
	// Worth selects the answers to remember; the default is all. The others are only for the
	// callers that wait for them.
	Worth func(T) bool

	mu      sync.Mutex
	entries map[string]*entry[T]
}

// Options describe the wanted answer.
type Options struct {
	// MaxAge is the maximum time since the look of the answer began.
	MaxAge time.Duration
	// Timeout limits a look. It continues without its first caller: others may have joined.
	Timeout time.Duration
	// Fresh requires a look that begins now or later.
	Fresh bool
}

// Ask carries out a look. last is the last successful answer, if it is remembered.
type Ask[T any] func(ctx context.Context, last *T) (T, error)

type entry[T any] struct {
	last  *T
	began time.Time // when the look of last began
	// current is running; next begins at its end, for callers that need a later one.
	current, next *flight[T]
}

type flight[T any] struct {
	ask     Ask[T]
	timeout time.Duration
	done    chan struct{}
	value   T
	err     error
}

// Look answers from memory, joins a running look, or asks. It does not remember failures.
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

// Forget drops the last answer: it turned out to be outdated.
func (l *Looks[T]) Forget(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.entries[key]; e != nil {
		e.last = nil
	}
}

// join returns the answer, or the look that will have it.
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

// fly carries out looks until no caller waits for another.
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

// run asks. A parser that panics on a hostile response ends this look, not the server.
func (f *flight[T]) run(ctx context.Context, last *T) (value T, err error) {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("check an upstream: panic: %v. This is a bug in Yuba", p)
		}
	}()
	return f.ask(ctx, last)
}

// entry returns the entry of a key. A new one replaces the oldest when the memory is full.
func (l *Looks[T]) entry(key string) *entry[T] {
	if e, ok := l.entries[key]; ok {
		return e
	}
	if l.entries == nil {
		l.entries = map[string]*entry[T]{}
	}
	if len(l.entries) >= cmp.Or(l.Capacity, defaultCapacity) {
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
