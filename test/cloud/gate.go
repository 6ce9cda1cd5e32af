// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import "sync"

// Gate holds one request.
type Gate struct {
	reached, released chan struct{}
	once              sync.Once
}

// Hold holds the next request with a method for an object until the gate is released. The cloud
// then executes it, even if the client has given up.
func (c *Cloud) Hold(method, name string) *Gate {
	g := &Gate{reached: make(chan struct{}), released: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gates[request{method, name}] = g
	return g
}

// Reached is closed when the request has arrived.
func (g *Gate) Reached() <-chan struct{} { return g.reached }

// Release lets the request continue. It may be called more than once, and before the request
// arrives.
func (g *Gate) Release() { g.once.Do(func() { close(g.released) }) }

// pass waits at the request's gate, if it has one. A gate holds one request only.
func (c *Cloud) pass(key request) {
	c.mu.Lock()
	g := c.gates[key]
	delete(c.gates, key)
	c.mu.Unlock()
	if g != nil {
		close(g.reached)
		<-g.released
	}
}
