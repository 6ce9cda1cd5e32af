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
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// quietPasses remembers passes that no object's status names: what they found until it was asked for, and the last one
// of each stack.
type quietPasses struct {
	ended map[run.Stack]run.Record
	last  map[run.Stack]quietPass
}

// quietPass is when a pass ended and how many before it, itself included, found nothing in a row.
type quietPass struct {
	ended time.Time
	count int
}

// noteEnded remembers a run that ended until somebody recorded it.
func (e *Executor) noteEnded(stack run.Stack, rec run.Record) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if rec.Announced {
		e.done[stack] = rec
		return
	}
	e.passes.ended[stack] = rec
	if rec.Result.Outcome == run.OutcomeSucceeded {
		e.passes.last[stack] = quietPass{rec.Result.Finished, rec.Passes}
	}
}

// quietSoFar counts the passes of a stack that found nothing in a row.
func (e *Executor) quietSoFar(stack run.Stack) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.passes.last[stack].count
}

// TakeEnded returns a quiet pass of the stack that ended and was not asked for yet. It is kept until the next one
// takes its place, so that a caller who could not record it may ask again.
func (e *Executor) TakeEnded(stack run.Stack) (run.Record, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	rec, ok := e.passes.ended[stack]
	return rec, ok
}

func (e *Executor) justDone(stack run.Stack, id string) (run.Record, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	rec, ok := e.done[stack]
	return rec, ok && rec.Spec.ID == id
}

// Recorded forgets a run that ended, a quiet pass that TakeEnded returned among them; its record stays in the store, or
// goes there now.
func (e *Executor) Recorded(stack run.Stack, id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.done[stack].Spec.ID == id {
		delete(e.done, stack)
	}
	if e.passes.ended[stack].Spec.ID == id {
		delete(e.passes.ended, stack)
	}
	if u := e.unstored[stack]; u != nil && u.entry.id == id {
		e.beginStoring(u)
	}
}

// LastQuiet returns when the stack's last quiet pass ended that found nothing; zero when there was none.
func (e *Executor) LastQuiet(ctx context.Context, stack run.Stack) (time.Time, error) {
	e.mu.Lock()
	last, known := e.passes.last[stack]
	e.mu.Unlock()
	if known {
		return last.ended, nil
	}
	data, err := e.opts.Blobs.Get(ctx, stack.Key(run.QuietSlot, run.BlobRecord), recordLimit)
	if err != nil && !errors.Is(err, blob.ErrNotFound) {
		return time.Time{}, fmt.Errorf("read the last pass of %s: %w", stack, err)
	}
	if err == nil {
		var rec run.Record
		if err := json.Unmarshal(data, &rec); err == nil && rec.Result != nil {
			last = quietPass{rec.Result.Finished, rec.Passes}
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if newer, known := e.passes.last[stack]; known { // a pass ended while the one before it was read
		return newer.ended, nil
	}
	e.passes.last[stack] = last
	return last.ended, nil
}

// Forget drops what is remembered of a stack that is gone, and has its working directory removed.
func (e *Executor) Forget(stack run.Stack) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.remove = append(e.remove, stack)
	e.announce()
	delete(e.done, stack)
	delete(e.costs, stack)
	delete(e.passes.ended, stack)
	delete(e.passes.last, stack)
	if u := e.unstored[stack]; u != nil && !u.storing {
		delete(e.unstored, stack)
	}
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

// List returns the records of a stack's runs, newest first, at most limit of them.
func (e *Executor) List(ctx context.Context, stack run.Stack, limit int) ([]run.Record, error) {
	ids, err := e.runIDs(ctx, stack)
	if err != nil {
		return nil, err
	}
	records, err := e.unnamedRecords(ctx, stack, ids)
	if err != nil {
		return nil, err
	}
	for i := len(ids) - 1; i >= 0 && len(records) <= limit; i-- {
		rec, err := e.Record(ctx, stack, ids[i])
		switch {
		case errors.Is(err, run.ErrNotFound):
			continue
		case errors.Is(err, run.ErrDamaged): // the others are there to be read all the same
			rec = run.Record{Spec: run.Spec{ID: ids[i], Stack: stack}, Result: &run.Result{Outcome: run.OutcomeInterrupted, Error: err.Error()}}
		case err != nil:
			return nil, err
		}
		records = append(records, rec)
	}
	slices.SortFunc(records, func(a, b run.Record) int { return strings.Compare(b.Spec.ID, a.Spec.ID) })
	return records[:min(limit, len(records))], nil
}

// unnamedRecords returns the quiet pass in hand and the one before it, which is in the place of quiet passes, unless its
// run has a record of its own by now or was given up before it ended.
func (e *Executor) unnamedRecords(ctx context.Context, stack run.Stack, ids []string) ([]run.Record, error) {
	var records []run.Record
	if en := e.inHand(stack); en != nil {
		if rec := en.record(); rec.Quiet {
			records = append(records, rec)
		}
	}
	rec, err := e.Record(ctx, stack, run.QuietSlot)
	if errors.Is(err, run.ErrNotFound) {
		return records, nil
	}
	if err != nil {
		return nil, err
	}
	if rec.Result == nil || slices.Contains(ids, rec.Spec.ID) {
		return records, nil
	}
	return append(records, rec), nil
}

// quietRecord finds a run by its id in the place of quiet passes.
func (e *Executor) quietRecord(ctx context.Context, stack run.Stack, id string) (run.Record, error) {
	missing := &NotFoundError{Stack: stack, RunID: id}
	if id == run.QuietSlot {
		return run.Record{}, missing
	}
	rec, err := e.Record(ctx, stack, run.QuietSlot)
	if err == nil && rec.Spec.ID != id || errors.Is(err, run.ErrNotFound) {
		return run.Record{}, missing
	}
	return rec, err
}

// runIDs lists the ids of a stack's runs that have a record of their own, oldest first.
func (e *Executor) runIDs(ctx context.Context, stack run.Stack) ([]string, error) {
	var ids []string
	for info, err := range e.opts.Blobs.List(ctx, stack.Prefix()) {
		if err != nil {
			return nil, fmt.Errorf("list the runs of %s: %w", stack, err)
		}
		id, part, _ := strings.Cut(strings.TrimPrefix(info.Key, stack.Prefix()), "/")
		if part == run.BlobRecord && id != run.QuietSlot {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}
