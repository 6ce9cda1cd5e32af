// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"errors"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// What a quiet pass found is true whether it is on record or not, and a pass whose record a crash took is made again.
// So nobody waits for the disk: such a record is stored once, after the listener has heard of it, and until then read
// from here.

// unstoredPass is the last quiet pass of a stack until its record is stored.
type unstoredPass struct {
	entry *entry
	// storing is true while somebody stores it, or one that it has overtaken.
	storing bool
}

// storeLater keeps what a quiet pass leaves in memory for now. The entry's lock is held.
func (e *Executor) storeLater(en *entry) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if u := e.unstored[en.stack]; u != nil {
		u.entry = en
		return
	}
	e.unstored[en.stack] = &unstoredPass{entry: en}
}

// beginStoring has the stack's last quiet pass stored, if it is not. The executor's lock is held.
func (e *Executor) beginStoring(u *unstoredPass) {
	if !u.storing {
		u.storing = true
		e.storing.Go(func() { e.storeQuiet(u) })
	}
}

// storeQuiet stores the newest pass of a stack until there is no newer one: one that was overtaken meanwhile would be
// overwritten at once.
func (e *Executor) storeQuiet(u *unstoredPass) {
	for {
		e.mu.Lock()
		en := u.entry
		e.mu.Unlock()
		rec, ctx := en.record(), context.Background()
		if err := errors.Join(e.keepLog(ctx, en, rec), e.store(ctx, rec)); err != nil {
			e.log.Warn("a pass that found nothing is not on record", "stack", en.stack.String(), "run", en.id, "error", err)
		}
		if e.isStored(u, en) {
			return
		}
	}
}

// isStored forgets a pass that is stored, unless another one has taken its place.
func (e *Executor) isStored(u *unstoredPass, en *entry) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if u.entry != en {
		return false
	}
	delete(e.unstored, en.stack)
	return true
}

// unstoredPass is the stack's last quiet pass while it is not stored yet, else nil.
func (e *Executor) unstoredPass(stack run.Stack) *entry {
	e.mu.Lock()
	defer e.mu.Unlock()
	if u := e.unstored[stack]; u != nil {
		return u.entry
	}
	return nil
}

// Flush stores what is not yet on record and returns when that is done, or ctx ends.
func (e *Executor) Flush(ctx context.Context) {
	e.mu.Lock()
	for _, u := range e.unstored {
		e.beginStoring(u)
	}
	e.mu.Unlock()
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
