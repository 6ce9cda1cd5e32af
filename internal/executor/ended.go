// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/run"
)

// quietPasses remembers passes that no object's status names: what they found until it was asked for, and when the
// last one of a stack ended.
type quietPasses struct {
	ended map[run.Stack]run.Record
	last  map[run.Stack]time.Time
}

// noteEnded remembers a run that began quietly.
func (e *Executor) noteEnded(stack run.Stack, rec run.Record) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.passes.ended[stack] = rec
	if rec.Result.Outcome == run.OutcomeSucceeded {
		e.passes.last[stack] = rec.Result.Finished
	}
}

// TakeEnded returns a quiet pass of the stack that ended and was not asked for yet. It is kept until the next one
// takes its place, so that a caller who could not record it may ask again.
func (e *Executor) TakeEnded(stack run.Stack) (run.Record, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	rec, ok := e.passes.ended[stack]
	return rec, ok
}

// Recorded forgets a quiet pass that TakeEnded returned.
func (e *Executor) Recorded(stack run.Stack, id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.passes.ended[stack].Spec.ID == id {
		delete(e.passes.ended, stack)
	}
}

// LastQuiet returns when the stack's last quiet pass ended that found nothing; zero when there was none.
func (e *Executor) LastQuiet(ctx context.Context, stack run.Stack) (time.Time, error) {
	e.mu.Lock()
	last, known := e.passes.last[stack]
	e.mu.Unlock()
	if known {
		return last, nil
	}
	data, err := e.opts.Blobs.Get(ctx, stack.Key(run.QuietSlot, run.BlobRecord), recordLimit)
	if err != nil && !errors.Is(err, blob.ErrNotFound) {
		return last, fmt.Errorf("read the last pass of %s: %w", stack, err)
	}
	if err == nil {
		var rec run.Record
		if err := json.Unmarshal(data, &rec); err == nil && rec.Result != nil {
			last = rec.Result.Finished
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.passes.last[stack] = last
	return last, nil
}

// Forget drops what is remembered of a stack that is gone, and has its working directory removed.
func (e *Executor) Forget(stack run.Stack) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.remove = append(e.remove, stack)
	e.announce()
	delete(e.passes.ended, stack)
	delete(e.passes.last, stack)
}

// LockFile reads the dependency lock file that the stack's last run left; nil when there is none.
func (e *Executor) LockFile(ctx context.Context, stack run.Stack) ([]byte, error) {
	data, err := e.opts.Blobs.Get(ctx, stack.LockFileKey(), 4<<20)
	if errors.Is(err, blob.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the dependency lock file of %s: %w", stack, err)
	}
	return data, nil
}

const planJSONLimit = 64 << 20

// ReadPlan reads the readable plan of a run, redacted by its runner.
func (e *Executor) ReadPlan(ctx context.Context, stack run.Stack, id string) ([]byte, error) {
	data, err := e.opts.Blobs.Get(ctx, stack.Key(id, run.BlobPlanJSON), planJSONLimit)
	if errors.Is(err, blob.ErrNotFound) {
		return nil, &NotFoundError{Stack: stack, RunID: id}
	}
	if err != nil {
		return nil, fmt.Errorf("read the plan of run %s of %s: %w", id, stack, err)
	}
	return data, nil
}

// List yields the stored records of a stack's runs, newest first, at most limit of them.
func (e *Executor) List(ctx context.Context, stack run.Stack, limit int) ([]run.Record, error) {
	ids, err := e.runIDs(ctx, stack)
	if err != nil {
		return nil, err
	}
	var records []run.Record
	for i := len(ids) - 1; i >= 0 && len(records) < limit; i-- {
		rec, err := e.Record(ctx, stack, ids[i])
		var missing *NotFoundError
		if errors.As(err, &missing) {
			continue
		}
		if err != nil {
			return nil, err
		}
		records = append(records, rec)
	}
	return records, nil
}

// runIDs lists the ids of a stack's runs, oldest first.
func (e *Executor) runIDs(ctx context.Context, stack run.Stack) ([]string, error) {
	var ids []string
	for info, err := range e.opts.Blobs.List(ctx, stack.Prefix()) {
		if err != nil {
			return nil, fmt.Errorf("list the runs of %s: %w", stack, err)
		}
		id, part, _ := strings.Cut(strings.TrimPrefix(info.Key, stack.Prefix()), "/")
		if part == run.BlobRecord {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}
