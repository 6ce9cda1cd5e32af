// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"sync"
)

// perHost is the maximum number of concurrent looks and fetches for one host through one proxy.
const perHost = 4

// hosts limits the concurrent connections to upstream hosts.
type hosts struct {
	mu     sync.Mutex
	places map[string]*places
}

// places are the places of one host, forgotten when unused.
type places struct {
	free  chan struct{}
	users int
}

// enter waits for a place at a host, or at its proxy. leave returns it.
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
