// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"sync"
)

// perHost is how many looks and fetches go to one host, by one way, at a time.
const perHost = 4

// hosts gives out places at upstreams' hosts.
type hosts struct {
	mu     sync.Mutex
	places map[string]*places
}

// places are those of one host; it is forgotten when nobody has or wants one.
type places struct {
	free  chan struct{}
	users int
}

// enter takes a place at a host, or behind a proxy on the way there, waiting for it if need be. leave gives it back.
func (h *hosts) enter(ctx context.Context, host string) (leave func(), err error) {
	h.mu.Lock()
	if h.places == nil {
		h.places = map[string]*places{}
	}
	p := h.places[host]
	if p == nil {
		p = &places{free: make(chan struct{}, perHost)}
		h.places[host] = p
	}
	p.users++
	h.mu.Unlock()
	done := func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if p.users--; p.users == 0 {
			delete(h.places, host)
		}
	}
	select {
	case p.free <- struct{}{}:
		return func() { <-p.free; done() }, nil
	case <-ctx.Done():
		done()
		return nil, context.Cause(ctx)
	}
}
