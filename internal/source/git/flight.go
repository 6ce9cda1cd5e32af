// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"sync"
	"time"
)

// flight is an operation that several callers wait for. It ends when it is done, or when nobody waits any more.
type flight struct {
	done    chan struct{}
	started time.Time
	err     error

	mu      sync.Mutex
	waiting int
	cancel  context.CancelFunc
}

// launch begins an operation that its caller waits for, too.
func launch(run func(ctx context.Context) error) *flight {
	ctx, cancel := context.WithCancel(context.Background())
	f := &flight{done: make(chan struct{}), started: time.Now(), waiting: 1, cancel: cancel}
	go func() {
		f.err = run(ctx)
		cancel()
		close(f.done)
	}()
	return f
}

// join makes the caller one of those who wait. It is false when the operation was given up already.
func (f *flight) join() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.waiting == 0 {
		return false
	}
	f.waiting++
	return true
}

// wait waits for the end, or for ctx. Everybody who launched or joined must call it.
func (f *flight) wait(ctx context.Context) error {
	select {
	case <-f.done:
	case <-ctx.Done():
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.waiting--; f.waiting == 0 {
		f.cancel()
	}
	select {
	case <-f.done:
		return f.err
	default:
		return ctx.Err()
	}
}
