// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// Stop ends the stack's run because a person wants it to end, and returns its record; without an id whichever run is in
// hand, and run.ErrNotFound when that one is not. A run that waits is over at once. One that a runner has is asked to stop,
// also in the middle of an apply, and killed when its grace period is over. The wish is on record when Stop returns without
// an error, so that a server which starts anew asks, too.
func (e *Executor) Stop(ctx context.Context, stack run.Stack, id, by string) (run.Record, error) {
	e.mu.Lock()
	en := e.byStack[stack]
	if en == nil || id != "" && en.id != id {
		e.mu.Unlock()
		return run.Record{}, &NotFoundError{Stack: stack, RunID: id}
	}
	if en.held {
		e.mu.Unlock()
		return en.record(), &run.RefusedError{Message: fmt.Sprintf("run %s (%s) of %s is in the hands of a person, who ends it by leaving", en.id, en.spec.Title(), stack)}
	}
	if en.stopped == "" {
		en.stopped, en.canceled = stoppedBy(by), true
		en.change(func(rec *run.Record) { rec.StoppedBy = by })
	}
	waiting := e.stopWaiting(en)
	e.announce()
	e.mu.Unlock()
	if waiting {
		err := e.endWaiting(ctx, en, run.Result{Outcome: run.OutcomeFailed, Class: run.FailureCanceled, Error: "canceled by " + by + " before it began", Finished: time.Now()})
		return en.record(), err
	}
	err := e.keepWish(ctx, en, by)
	return en.record(), err
}

// stoppedBy is a person's wish in words.
func stoppedBy(by string) string { return "canceled by " + by }

// keepWish records that a person stops a run that a runner has. It starts from the current record, which others may have
// replaced meanwhile.
func (e *Executor) keepWish(ctx context.Context, en *entry, by string) error {
	en.mu.Lock()
	defer en.mu.Unlock()
	rec := en.record()
	if en.over || rec.StoppedBy != "" && rec.StoppedBy != by {
		return nil // the result tells, or somebody was faster
	}
	rec.StoppedBy = by
	if rec.Quiet && !rec.Announced {
		en.now.Store(&rec) // a pass that leaves no trace goes with this server
		return nil
	}
	if err := e.store(ctx, rec); err != nil {
		return fmt.Errorf("the run is asked to stop, but a server that starts anew would not know of that: %w", err)
	}
	// Only this field: the log may have told meanwhile that the run changes something.
	en.change(func(rec *run.Record) { rec.StoppedBy = by })
	return nil
}

// sayWhoStopped makes the end of a run that a person stopped a failure of a kind of its own: one that was merely called
// back is begun anew at once. What succeeded all the same has.
func (e *Executor) sayWhoStopped(en *entry, result *run.Result) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case en.stopped == "" || result.Outcome == run.OutcomeSucceeded:
	case result.Outcome == run.OutcomeCanceled:
		result.Outcome, result.Class = run.OutcomeFailed, run.FailureCanceled
		if !strings.Contains(result.Error, en.stopped) {
			result.Error = en.stopped + ": " + result.Error
		}
	case result.Class == "":
		result.Class = run.FailureCanceled
	}
}
