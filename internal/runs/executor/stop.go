// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"fmt"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/executor/records"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// stopping ends runs early, because their stack cancels them or a person stops them.
type stopping struct {
	hand   *hand
	ending *ending
}

// Cancel cancels a run: at once if no runner has it, otherwise when its runner considers it safe. A
// run that has begun to change something continues.
func (s *stopping) Cancel(ctx context.Context, id string) error {
	s.hand.mu.Lock()
	en := s.hand.runs[id]
	if en == nil || !en.revocable() {
		s.hand.mu.Unlock()
		return nil
	}
	en.canceled = true
	waiting := s.hand.queue.Remove(en.id)
	s.hand.announce()
	s.hand.mu.Unlock()
	if !waiting {
		return nil
	}
	return s.endWaiting(ctx, en, run.Result{Outcome: run.OutcomeCanceled, Error: "canceled before it began", Finished: time.Now()})
}

// Stop stops the stack's run (any without an id) for a person, or returns run.ErrNotFound. A
// waiting run ends at once. A runner stops it even in the middle of an apply, and kills it after
// its grace period. Without an error the request is on record for a new server.
func (s *stopping) Stop(ctx context.Context, stack run.Stack, id, by string) (run.Record, error) {
	s.hand.mu.Lock()
	en := s.hand.stacks[stack]
	if en == nil || id != "" && en.id != id {
		s.hand.mu.Unlock()
		return run.Record{}, records.NotFound(stack, id)
	}
	if en.held {
		s.hand.mu.Unlock()
		return en.record(), &run.RefusedError{Message: fmt.Sprintf("run %s (%s) of %s is executed by a person. It ends when that person leaves the shell", en.id, en.spec.Title(), stack)}
	}
	if en.stopped == "" {
		en.stopped, en.canceled = stoppedBy(by), true
		en.change(func(rec *run.Record) { rec.StoppedBy = by })
	}
	waiting := s.hand.queue.Remove(en.id)
	s.hand.announce()
	s.hand.mu.Unlock()
	if waiting {
		err := s.endWaiting(ctx, en, run.Result{Outcome: run.OutcomeFailed, Class: run.FailureCanceled, Error: stoppedBy(by) + " before it began", Finished: time.Now()})
		return en.record(), err
	}
	err := s.keepWish(ctx, en, by)
	return en.record(), err
}

func stoppedBy(by string) string { return "canceled by " + by }

// endWaiting ends a run that was removed from the queue.
func (s *stopping) endWaiting(ctx context.Context, en *entry, result run.Result) error {
	err := s.ending.finish(ctx, en, result)
	if err != nil { // requeue it, or it would never end
		s.hand.mu.Lock()
		defer s.hand.mu.Unlock()
		en.canceled, en.stopped = false, ""
		en.change(func(rec *run.Record) { rec.StoppedBy = "" })
		s.hand.wait(en)
		s.hand.announce()
	}
	return err
}

// keepWish stores a person's request to stop a run that a runner executes.
func (s *stopping) keepWish(ctx context.Context, en *entry, by string) error {
	en.mu.Lock()
	defer en.mu.Unlock()
	rec := en.record()
	if en.over || rec.StoppedBy != "" && rec.StoppedBy != by {
		return nil // the result contains it, or somebody else was faster
	}
	rec.StoppedBy = by
	if rec.Quiet && !rec.Announced {
		en.now.Store(&rec) // a quiet pass ends with this server
		return nil
	}
	if err := s.ending.records.Put(ctx, rec); err != nil {
		return fmt.Errorf("the run was asked to stop, but a restarted server would not repeat the request: %w", err)
	}
	// Change only this field: the log may have shown by now that the run changes something.
	en.change(func(rec *run.Record) { rec.StoppedBy = by })
	return nil
}
