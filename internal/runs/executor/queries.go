// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/executor/records"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// queries reads and prunes the records and files of runs, and looks first in hand, then in ended,
// then in the store.
type queries struct {
	hand    *hand
	ended   *ended
	records records.Store
}

// Record reads a run's record.
func (q *queries) Record(ctx context.Context, stack run.Stack, id string) (run.Record, error) {
	if en := q.hand.find(stack, id); en != nil {
		return en.record(), nil
	}
	if rec, ok := q.ended.find(stack, id); ok {
		return rec, nil
	}
	newer := q.ended.notStored(stack)
	rec, err := q.records.Get(ctx, stack, id)
	if err == nil && newer != nil && rec.Slot() == run.QuietSlot { // the newer one takes its place
		return run.Record{}, records.NotFound(stack, id)
	}
	return rec, err
}

// List returns the records of a stack's runs, newest first, at most limit of them.
func (q *queries) List(ctx context.Context, stack run.Stack, limit int) ([]run.Record, error) {
	ids, err := q.records.IDs(ctx, stack)
	if err != nil {
		return nil, err
	}
	list, err := q.unnamed(ctx, stack, ids)
	if err != nil {
		return nil, err
	}
	for i := len(ids) - 1; i >= 0 && len(list) <= limit; i-- {
		rec, err := q.Record(ctx, stack, ids[i])
		switch {
		case errors.Is(err, run.ErrNotFound):
			continue
		case errors.Is(err, run.ErrDamaged): // list it as damaged
			rec = run.Record{Spec: run.Spec{ID: ids[i], Stack: stack}, Result: &run.Result{Outcome: run.OutcomeInterrupted, Error: err.Error()}}
		case err != nil:
			return nil, err
		}
		list = append(list, rec)
	}
	slices.SortFunc(list, func(a, b run.Record) int { return strings.Compare(b.Spec.ID, a.Spec.ID) })
	return list[:min(limit, len(list))], nil
}

// unnamed returns the quiet pass in hand and the stored one, unless that is unfinished or now has
// its own record.
func (q *queries) unnamed(ctx context.Context, stack run.Stack, ids []string) ([]run.Record, error) {
	var list []run.Record
	if en := q.hand.of(stack); en != nil {
		if rec := en.record(); rec.Quiet {
			list = append(list, rec)
		}
	}
	rec, err := q.Record(ctx, stack, run.QuietSlot)
	if errors.Is(err, run.ErrNotFound) {
		return list, nil
	}
	if err != nil {
		return nil, err
	}
	if rec.Result == nil || slices.Contains(ids, rec.Spec.ID) {
		return list, nil
	}
	return append(list, rec), nil
}

// ReadPlan reads the readable plan of a run, redacted by its runner.
func (q *queries) ReadPlan(ctx context.Context, stack run.Stack, id string) ([]byte, error) {
	return q.records.Part(ctx, stack, id, run.BlobPlanJSON)
}

// ReadPart reads one of the blobs of a run, such as run.BlobPlanText, or returns run.ErrNotFound.
func (q *queries) ReadPart(ctx context.Context, stack run.Stack, id, part string) ([]byte, error) {
	return q.records.Part(ctx, stack, id, part)
}

// LockFile reads the dependency lock file of the stack's last run; nil if it has none.
func (q *queries) LockFile(ctx context.Context, stack run.Stack) ([]byte, error) {
	return q.records.LockFile(ctx, stack)
}

// WriteLog copies a run's log, in JSON lines, to w. With follow it returns when the run is over.
func (q *queries) WriteLog(ctx context.Context, stack run.Stack, id string, follow bool, w io.Writer) error {
	if en := q.hand.find(stack, id); en != nil {
		return en.log.Follow(ctx, w, follow)
	}
	if en := q.ended.notStored(stack); en != nil && en.id == id {
		return en.log.Follow(ctx, w, false)
	}
	rec, err := q.Record(ctx, stack, id)
	if err != nil {
		return err
	}
	log, err := q.records.Log(ctx, rec)
	if err == nil {
		defer log.Close() //nolint:errcheck // read only
		_, err = io.Copy(w, log)
	}
	if err != nil && !errors.Is(err, run.ErrNotFound) {
		return fmt.Errorf("read the log of run %s of %s: %w", id, stack, err)
	}
	return err
}

// Prune removes parts of a stack's runs that are no longer needed, see [records.Store.Prune].
func (q *queries) Prune(ctx context.Context, r records.PruneRequest) (records.Pruned, error) {
	return q.records.Prune(ctx, r, func() []string {
		en := q.hand.of(r.Stack)
		switch {
		case en == nil:
			return nil
		case en.spec.Plan == nil:
			return []string{en.id}
		}
		return []string{en.id, en.spec.Plan.RunID}
	})
}

// PruneGone removes the runs of a deleted stack once all of them are older than before.
func (q *queries) PruneGone(ctx context.Context, stack run.Stack, before time.Time) (records.Pruned, error) {
	if q.hand.of(stack) != nil {
		return records.Pruned{}, nil
	}
	return q.records.PruneGone(ctx, stack, before)
}
