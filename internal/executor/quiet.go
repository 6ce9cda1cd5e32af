// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"errors"

	"github.com/yuba-dev/yuba/internal/run"
)

// What a quiet pass found is true whether it is on record or not, and a pass whose record a crash took is made again.
// So nobody waits for the disk: such a record is stored once, after everybody was told, and until then read from here.

// storeLater stores what a quiet pass leaves. The entry's lock is held.
func (e *Executor) storeLater(en *entry) {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, busy := e.unstored[en.stack]
	e.unstored[en.stack] = en
	if !busy { // else whoever stores the pass before goes on with this one
		e.storing.Go(func() { e.storeQuiet(en.stack) })
	}
}

// storeQuiet stores the newest pass of a stack until there is no newer one: one that was overtaken meanwhile would be
// overwritten at once.
func (e *Executor) storeQuiet(stack run.Stack) {
	for en := e.unstoredPass(stack); en != nil; en = e.nextUnstored(en) {
		rec := en.record()
		ctx := context.Background()
		if err := errors.Join(e.keepLog(ctx, en, rec), e.store(ctx, rec)); err != nil {
			e.log.Warn("a pass that found nothing is not on record", "stack", stack.String(), "run", en.id, "error", err)
		}
	}
}

// nextUnstored returns the pass that ended while one was being stored, nil when none did.
func (e *Executor) nextUnstored(stored *entry) *entry {
	e.mu.Lock()
	defer e.mu.Unlock()
	if next := e.unstored[stored.stack]; next != stored {
		return next
	}
	delete(e.unstored, stored.stack)
	return nil
}

// unstoredPass is the stack's last quiet pass while it is not stored yet, else nil.
func (e *Executor) unstoredPass(stack run.Stack) *entry {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.unstored[stack]
}

// Flush returns when everything that was to be stored is, or ctx ends.
func (e *Executor) Flush(ctx context.Context) {
	stored := make(chan struct{})
	go func() {
		defer close(stored)
		e.storing.Wait()
	}()
	select {
	case <-stored:
	case <-ctx.Done():
	}
}
