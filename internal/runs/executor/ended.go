// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/executor/records"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// ended keeps ended runs until the stack's controller has recorded them. A quiet pass without
// findings is stored only after that: if a crash loses it, it is repeated.
type ended struct {
	records records.Store
	log     *slog.Logger

	mu sync.Mutex
	// announced runs are named in statuses, quiet passes are not.
	announced, quiet map[run.Stack]run.Record
	// last is the last quiet pass of each stack that found nothing.
	last map[run.Stack]quietPass
	// unstored are quiet passes that are not stored yet; storing counts the goroutines that do it.
	unstored map[run.Stack]*unstoredPass
	storing  sync.WaitGroup
}

// quietPass is the end of a pass, and the number of passes in a row that found nothing.
type quietPass struct {
	ended time.Time
	count int
}

// unstoredPass is the last quiet pass of a stack until its record is stored.
type unstoredPass struct {
	entry *entry
	// storing is true while a goroutine stores it, or an earlier pass of the stack.
	storing bool
}

func newEnded(store records.Store, log *slog.Logger) *ended {
	return &ended{records: store, log: log, announced: map[run.Stack]run.Record{}, quiet: map[run.Stack]run.Record{},
		last: map[run.Stack]quietPass{}, unstored: map[run.Stack]*unstoredPass{}}
}

// add remembers an ended run; with later, its record is not stored yet.
func (d *ended) add(en *entry, rec run.Record, later bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if rec.Announced {
		d.announced[en.stack] = rec
	} else {
		d.quiet[en.stack] = rec
		if rec.Result.Outcome == run.OutcomeSucceeded {
			d.last[en.stack] = quietPass{rec.Result.Finished, rec.Passes}
		}
	}
	if !later {
		return
	}
	if u := d.unstored[en.stack]; u != nil {
		u.entry = en
		return
	}
	d.unstored[en.stack] = &unstoredPass{entry: en}
}

// passes counts the passes of a stack in a row that found nothing.
func (d *ended) passes(stack run.Stack) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last[stack].count
}

// find returns an ended run that is not recorded, or not stored, yet.
func (d *ended) find(stack run.Stack, id string) (run.Record, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if rec, ok := d.announced[stack]; ok && rec.Spec.ID == id {
		return rec, true
	}
	if u := d.unstored[stack]; u != nil && (u.entry.id == id || id == run.QuietSlot) {
		return u.entry.record(), true
	}
	return run.Record{}, false
}

// TakeEnded returns the stack's last quiet pass that is not recorded yet. Callers may repeat it.
func (d *ended) TakeEnded(stack run.Stack) (run.Record, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	rec, ok := d.quiet[stack]
	return rec, ok
}

// Recorded forgets an ended run. If its record is not stored yet, it is stored now.
func (d *ended) Recorded(stack run.Stack, id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.announced[stack].Spec.ID == id {
		delete(d.announced, stack)
	}
	if d.quiet[stack].Spec.ID == id {
		delete(d.quiet, stack)
	}
	if u := d.unstored[stack]; u != nil && u.entry.id == id {
		d.beginStoring(u)
	}
}

// LastQuiet returns when a quiet pass last found nothing; zero for never.
func (d *ended) LastQuiet(ctx context.Context, stack run.Stack) (time.Time, error) {
	d.mu.Lock()
	last, known := d.last[stack]
	d.mu.Unlock()
	if known {
		return last.ended, nil
	}
	rec, err := d.records.Get(ctx, stack, run.QuietSlot)
	if err != nil && !errors.Is(err, run.ErrNotFound) && !errors.Is(err, run.ErrDamaged) {
		return time.Time{}, err
	}
	if err == nil && rec.Result != nil {
		last = quietPass{rec.Result.Finished, rec.Passes}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if newer, known := d.last[stack]; known { // a pass ended while the previous one was read
		return newer.ended, nil
	}
	d.last[stack] = last
	return last.ended, nil
}

// forget drops the runs of a deleted stack.
func (d *ended) forget(stack run.Stack) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.announced, stack)
	delete(d.quiet, stack)
	delete(d.last, stack)
	if u := d.unstored[stack]; u != nil && !u.storing {
		delete(d.unstored, stack)
	}
}

// notStored is the stack's last quiet pass while it is not stored yet, else nil.
func (d *ended) notStored(stack run.Stack) *entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	if u := d.unstored[stack]; u != nil {
		return u.entry
	}
	return nil
}

// countUnstored counts quiet passes that are not stored yet.
func (d *ended) countUnstored() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.unstored)
}

// beginStoring stores the stack's last quiet pass in the background. d.mu is held.
func (d *ended) beginStoring(u *unstoredPass) {
	if !u.storing {
		u.storing = true
		d.storing.Go(func() { d.store(u) })
	}
}

// store stores the newest pass of a stack until there is no newer one.
func (d *ended) store(u *unstoredPass) {
	for {
		d.mu.Lock()
		en := u.entry
		d.mu.Unlock()
		rec, ctx := en.record(), context.Background()
		if err := errors.Join(en.keepLog(ctx, d.records, rec), d.records.Put(ctx, rec)); err != nil {
			d.log.Warn("cannot store the record of a drift check that found nothing", "stack", en.stack.String(), "run", en.id, "error", err)
		}
		d.mu.Lock()
		newest := u.entry == en
		if newest {
			delete(d.unstored, en.stack)
		}
		d.mu.Unlock()
		if newest {
			return
		}
	}
}

// Flush stores all records that are not stored yet. It returns when that is done or ctx ends.
func (d *ended) Flush(ctx context.Context) {
	d.mu.Lock()
	for _, u := range d.unstored {
		d.beginStoring(u)
	}
	d.mu.Unlock()
	stored := make(chan struct{})
	go func() {
		defer close(stored)
		d.storing.Wait()
	}()
	select {
	case <-stored:
	case <-ctx.Done():
	}
}
