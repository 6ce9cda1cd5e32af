// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"log/slog"
	"time"
)

const (
	// firstLoad is how long the start waits for the registry's bucket. Stacks must not wait longer for
	// a registry that they may not use.
	firstLoad = 15 * time.Second
	// laterLoad is how long a later attempt may take: the list of a very large bucket.
	laterLoad = 5 * time.Minute
	// maxLoadDelay limits the time between two attempts.
	maxLoadDelay = time.Minute
)

// load reads what the registry must know of its bucket, and returns the key of its addresses.
func (r *registryParts) load(ctx context.Context, limit time.Duration, log *slog.Logger) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := r.modules.Load(ctx); err != nil {
		return nil, err
	}
	if err := r.providers.Load(ctx); err != nil {
		return nil, err
	}
	return sharedURLKey(ctx, r.bucket, log)
}

// loadLater tries to load until that succeeds, and then lets the server serve. It returns false if ctx
// ends before.
func (r *registryParts) loadLater(ctx context.Context, delay time.Duration, log *slog.Logger) bool {
	for {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(delay):
		}
		key, err := r.load(ctx, laterLoad, log)
		if err == nil {
			r.server.Available(key)
			log.Info("the registry's bucket is open")
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		delay = min(2*delay, maxLoadDelay)
		log.Warn("the registry's bucket still cannot be used", "error", err, "again", delay)
		r.server.Unavailable(err)
	}
}
