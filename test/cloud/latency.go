// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"context"
	"time"
)

// Slow makes every request for an object take so long before it is served, as far clouds do; zero ends that.
func (c *Cloud) Slow(latency time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.latency = latency
}

// wait takes the cloud's latency. Like the gates, it keeps no request from being served whose client has given up.
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
