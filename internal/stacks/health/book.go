// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"sync"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// places limits a namespace's concurrent checks, so that its slow stacks do not delay others.
const places = 16

// Book starts health checks and remembers their results. Its zero value is ready.
type Book struct {
	once sync.Once
	over chan run.Stack

	mu     sync.Mutex
	checks map[run.Stack]*checked
	// places are taken by running checks, by namespace.
	places map[string]chan struct{}
}

// Entry is the last check of a stack, or the running one.
type Entry struct {
	// Key identifies the subject of the check: the apply, the checks and the outputs.
	Key     string
	Running bool
	// Again is true if a running check repeats the last one, whose result is still valid.
	Again bool
	At    time.Time
	// Failure is empty for a healthy stack.
	Failure string
}

type checked struct {
	Entry
	stop context.CancelFunc
}

func (b *Book) ready() {
	b.once.Do(func() {
		b.over, b.checks, b.places = make(chan run.Stack, 1024), map[run.Stack]*checked{}, map[string]chan struct{}{}
	})
}

// Ended sends the stacks whose checks have ended.
func (b *Book) Ended() <-chan run.Stack {
	b.ready()
	return b.over
}

// Begin runs a check in the background. It replaces a running one.
func (b *Book) Begin(ctx context.Context, stack run.Stack, e Entry, now func() time.Time, check func(context.Context) error) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	e.Running = true
	begun := &checked{e, stop}
	free := b.set(stack, begun)
	go func() {
		defer stop()
		select {
		case free <- struct{}{}:
		case <-ctx.Done():
			return
		}
		err := check(ctx)
		<-free
		if b.conclude(stack, begun, now(), err) {
			b.over <- stack
		}
	}()
}

// Note records a check that could not begin.
func (b *Book) Note(stack run.Stack, e Entry) { b.set(stack, &checked{e, func() {}}) }

// Last returns the last check of a stack, or the running one.
func (b *Book) Last(stack run.Stack) (Entry, bool) {
	b.ready()
	b.mu.Lock()
	defer b.mu.Unlock()
	if c := b.checks[stack]; c != nil {
		return c.Entry, true
	}
	return Entry{}, false
}

// Forget stops the stack's check, if one runs.
func (b *Book) Forget(stack run.Stack) {
	b.ready()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drop(stack)
}

// drop removes the stack's check. The lock is held.
func (b *Book) drop(stack run.Stack) {
	if c := b.checks[stack]; c != nil {
		c.stop()
		delete(b.checks, stack)
	}
}

// set replaces the stack's check and returns the places of its namespace.
func (b *Book) set(stack run.Stack, c *checked) chan struct{} {
	b.ready()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drop(stack)
	b.checks[stack] = c
	if b.places[stack.Namespace] == nil {
		b.places[stack.Namespace] = make(chan struct{}, places)
	}
	return b.places[stack.Namespace]
}

// conclude records a result, unless the stack was forgotten or another check has begun.
func (b *Book) conclude(stack run.Stack, c *checked, at time.Time, err error) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.checks[stack] != c {
		return false
	}
	done := Entry{Key: c.Key, At: at}
	if err != nil {
		done.Failure = err.Error()
	}
	b.checks[stack] = &checked{done, c.stop}
	return true
}
