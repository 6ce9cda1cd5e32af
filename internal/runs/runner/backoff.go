// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

const (
	firstDelay = 50 * time.Millisecond
	lastDelay  = 2 * time.Second
	// stuckDelay is how long the next attempt waits at most while only a person can help: each sends the whole state.
	stuckDelay = 20 * time.Second
)

// backoff waits longer each time, with jitter so that runners do not meet a restarted server all at once.
type backoff struct {
	delay time.Duration
	stuck bool
}

func (b *backoff) next() time.Duration {
	last := lastDelay
	if b.stuck {
		last = stuckDelay
	}
	b.delay = min(max(2*b.delay, firstDelay), last)
	return b.delay/2 + rand.N(b.delay/2+1)
}

// wait returns false when ctx ended first.
func (b *backoff) wait(ctx context.Context) bool {
	timer := time.NewTimer(b.next())
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// persist tries until the server takes it or refuses it for good, or ctx ends.
func (s *server) persist(ctx context.Context, r request) (int, error) {
	var pause backoff
	for {
		status, err := s.do(ctx, r)
		if r.stuck != nil {
			pause.stuck = errors.Is(err, errStuck)
			r.stuck(pause.stuck)
		}
		if err == nil || refused(err) != 0 {
			return status, err
		}
		if truncater, ok := r.stream.(interface{ Reset() }); ok {
			truncater.Reset() // what came before the failure comes again
		}
		if !pause.wait(ctx) {
			return 0, err
		}
	}
}
