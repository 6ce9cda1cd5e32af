// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"context"
	"time"
)

// Slow delays every request for an object, as a distant cloud does; zero removes the delay.
func (c *Cloud) Slow(latency time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.latency = latency
}

// wait waits for the cloud's latency. Like a gate, it does not prevent a request from being served
// when its client gives up.
func (c *Cloud) wait(ctx context.Context) {
	c.mu.Lock()
	latency := c.latency
	c.mu.Unlock()
	if latency <= 0 {
		return
	}
	timer := time.NewTimer(latency)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
