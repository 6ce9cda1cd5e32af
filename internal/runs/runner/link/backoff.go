// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

const (
	FirstDelay = 50 * time.Millisecond
	lastDelay  = 2 * time.Second
	// stuckDelay limits the wait while only a person can help: each attempt sends the whole state.
	stuckDelay = 20 * time.Second
)

// Backoff grows its waits, with jitter: runners must not reach a restarted server all at once.
type Backoff struct {
	delay time.Duration
	stuck bool
}

func (b *Backoff) next() time.Duration {
	last := lastDelay
	if b.stuck {
		last = stuckDelay
	}
	b.delay = min(max(2*b.delay, FirstDelay), last)
	return b.delay/2 + rand.N(b.delay/2+1)
}

// Wait returns false if ctx ended first.
func (b *Backoff) Wait(ctx context.Context) bool {
	timer := time.NewTimer(b.next())
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Persist tries until the server accepts or finally refuses, or ctx ends.
func (s *Server) Persist(ctx context.Context, r Request) (int, error) {
	var pause Backoff
	for {
		status, err := s.Do(ctx, r)
		if r.Stuck != nil {
			pause.stuck = errors.Is(err, ErrStuck)
			r.Stuck(pause.stuck)
		}
		if err == nil || Refused(err) != 0 {
			return status, err
		}
		if truncater, ok := r.Stream.(interface{ Reset() }); ok {
			truncater.Reset() // data from before the failure is sent again
		}
		if !pause.Wait(ctx) {
			return 0, err
		}
	}
}
