// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// flight is an operation of several callers. It is cancelled when none of them still waits.
type flight struct {
	done    chan struct{}
	started time.Time
	err     error

	mu      sync.Mutex
	waiting int
	cancel  context.CancelFunc
}

// launch begins an operation, and joins the caller. limit also applies while callers keep joining.
func launch(limit time.Duration, run func(ctx context.Context) error) *flight {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	f := &flight{done: make(chan struct{}), started: time.Now(), waiting: 1, cancel: cancel}
	go func() {
		defer close(f.done)
		defer cancel()
		f.err = guarded(func() error { return run(ctx) })
	}()
	return f
}

// panicError is a panic of a parser of foreign bytes. It ends one fetch, not the server.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.value, e.stack) }

func guarded(run func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &panicError{value, debug.Stack()}
		}
	}()
	return run()
}

// join adds a caller. It returns false if the operation was cancelled.
func (f *flight) join() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.waiting == 0 {
		return false
	}
	f.waiting++
	return true
}

// wait waits for the end, or for ctx. It must be called after launch and after a successful join.
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
