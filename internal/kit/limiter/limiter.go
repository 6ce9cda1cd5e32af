// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package limiter limits how many callers do something concurrently: for each key, such as a
// namespace or a host. A slow key delays only its own callers. Keys without callers cost nothing.
package limiter

import (
	"context"
	"sync"
)

// Limiter has the places of all keys.
type Limiter struct {
	each int

	mu sync.Mutex
	of map[string]*places
}

// places are those of one key. users have one or wait for one.
type places struct {
	taken chan struct{}
	users int
}

// New returns a limiter with a number of places for each key.
func New(each int) *Limiter { return &Limiter{each: each, of: map[string]*places{}} }

// Take waits for a place of the key until ctx ends. leave gives it back.
func (l *Limiter) Take(ctx context.Context, key string) (leave func(), err error) {
	l.mu.Lock()
	p := l.of[key]
	if p == nil {
		p = &places{taken: make(chan struct{}, l.each)}
		l.of[key] = p
	}
	p.users++
	l.mu.Unlock()
	forget := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if p.users--; p.users == 0 {
			delete(l.of, key)
		}
	}
	select {
	case p.taken <- struct{}{}:
		return func() { <-p.taken; forget() }, nil
	case <-ctx.Done():
		forget()
		return nil, context.Cause(ctx)
	}
}
