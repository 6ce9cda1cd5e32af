// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/mask"
	"github.com/yuba-dev/yuba/internal/runs/executor/evidence"
	"github.com/yuba-dev/yuba/internal/runs/executor/records"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// ending ends runs: it checks the result, stores it, and notifies the listener.
type ending struct {
	opts     *Options
	hand     *hand
	ended    *ended
	records  records.Store
	locks    locks
	evidence *evidence.Finder
}

// finish ends a run: it releases its lock, stores its result (that of a quiet pass later) and
// removes it from the hand. The first result counts.
func (f *ending) finish(ctx context.Context, en *entry, result run.Result) error {
	en.mu.Lock()
	defer en.mu.Unlock()
	if en.over {
		return nil
	}
	rec := en.record()
	if rec.Result == nil {
		if rec.Permitted && (en.resumed || en.torn) {
			if err := f.finishWrite(ctx, &rec); err != nil {
				return err
			}
		}
		if err := f.judge(ctx, en, rec, &result); err != nil {
			return err
		}
		rec.Result, rec.Planning = &result, false
		rec.Planned = nil // the result has the outcome
	}
	// A pass that found something gets a record of its own.
	rec.Quiet = rec.Quiet && foundNothing(rec.Result)
	if rec.Quiet {
		rec.Passes = f.ended.passes(en.stack) + 1
	}
	later := rec.Quiet && !rec.LockHeld && !en.resumed
	if err := f.putOnRecord(ctx, en, &rec, later); err != nil {
		return err
	}
	f.leave(en, rec, later)
	return nil
}

// foundNothing reports whether a quiet pass needs no record of its own.
func foundNothing(r *run.Result) bool {
	return r.Outcome == run.OutcomeSucceeded && !r.ApplyStarted && (r.Plan == nil || !r.Plan.Changes)
}

// judge corrects and completes the result of a runner.
func (f *ending) judge(ctx context.Context, en *entry, rec run.Record, result *run.Result) error {
	// A runner that lost its journal does not know how far the run got.
	result.ApplyStarted = result.ApplyStarted || rec.Permitted && result.Outcome == run.OutcomeInterrupted
	if err := f.vouch(ctx, en, rec, result); err != nil {
		return err
	}
	f.sayWhoStopped(en, result)
	f.warn(en, result)
	en.onePlan(result)
	return f.account(ctx, en, rec, result)
}

// vouch fails a run whose last state is not stored, and says what to do. The entry's lock is held.
func (f *ending) vouch(ctx context.Context, en *entry, rec run.Record, result *run.Result) error {
	if result.StateDigest == "" || result.Class == run.FailureState || rec.Spec.Backend.Kind != run.BackendManaged {
		return nil
	}
	stored := ""
	if rec.StateMark != nil {
		stored = rec.StateMark.Digest
	}
	var unread error
	// An earlier server may have stored the state without recording that.
	if stored != result.StateDigest && en.resumed {
		var now *state.Snapshot
		if now, unread = f.opts.States.Read(ctx, records.StateKey(rec)); unread == nil {
			stored = mark(now).Digest
		}
		if unread != nil && !state.Unreadable(unread) && !f.evidence.Outwaited(en.id) {
			return unread
		}
	}
	if stored == result.StateDigest {
		return nil
	}
	version, _, err := f.opts.States.Find(ctx, records.StateKey(rec), result.StateDigest)
	if err != nil && !errors.Is(err, state.ErrNoVersion) && !state.Unreadable(err) && !f.evidence.Outwaited(en.id) {
		return err
	}
	what := whatBecame(version.ID, err, unread)
	f.opts.Log.Error("a run's last state is not the stack's state", "stack", en.stack.String(), "run", en.id, "state", result.StateDigest, "stored", stored, "why", what)
	result.Outcome, result.Class, result.FailedStep = run.OutcomeFailed, run.FailureState, run.StepApply
	call := en.stack.Name + " -n " + en.stack.Namespace
	why := fmt.Sprintf("The run's last state (%.19s) %s. Changes that the run made may be missing from the state: see `yuba status %s`, and compare `yuba logs %s` with `yuba state list %s`.",
		result.StateDigest, what, call, call, call)
	if result.Error != "" {
		why = result.Error + "\n" + why
	}
	result.Error = why
	return nil
}

// whatBecame says which version contains a shipped state, or why that is unknown.
func whatBecame(version string, notFound, unread error) string {
	switch {
	case notFound == nil && unread == nil:
		return "is stored as version " + version + ", but it is not the stack's current state"
	case notFound == nil:
		return fmt.Sprintf("is stored as version %s, but whether it is the stack's state cannot be verified: %s", version, unread)
	case errors.Is(notFound, state.ErrNoVersion) && (unread == nil || state.Lasting(unread)):
		return "is not stored"
	case unread == nil:
		unread = notFound
	}
	return fmt.Sprintf("cannot be verified: %s", unread)
}

// sayWhoStopped makes a stopped run a failure of its own class: a canceled one would start again.
func (f *ending) sayWhoStopped(en *entry, result *run.Result) {
	f.hand.mu.Lock()
	defer f.hand.mu.Unlock()
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

// warn adds the notices about the versions that a run resolved, to the result and the log.
func (f *ending) warn(en *entry, result *run.Result) {
	if result.Uses == nil || result.Notices != nil {
		return
	}
	result.Notices = f.opts.Notices(*result.Uses)
	for _, text := range result.Notices {
		if err := en.log.Say("warn", text); err != nil {
			f.opts.Log.Warn("cannot write a run's log", "stack", en.stack.String(), "run", en.id, "error", err)
		}
	}
}

// account lists the possible leftovers of an interrupted apply in the result and the log. While
// evidence cannot be read, it fails, so that the runner retries. The entry's lock is held.
func (f *ending) account(ctx context.Context, en *entry, rec run.Record, result *run.Result) error {
	if !evidence.MayHaveLeft(rec, result) {
		return nil
	}
	log, _, err := en.log.Reader()
	if err != nil {
		return err
	}
	l, err := f.evidence.List(ctx, rec, result, log)
	if err != nil {
		return err
	}
	evidence.Conceal(l.Objects, rec.Spec.KnownSecrets().Masker(mask.Mark))
	if !en.reported {
		en.reported = true
		sayUnproven(en.log, l)
	}
	return nil
}

// putOnRecord stores log, lock file and record of a run. Those of a quiet pass are stored later.
func (f *ending) putOnRecord(ctx context.Context, en *entry, rec *run.Record, later bool) error {
	if !later {
		if err := f.wrapUp(ctx, en, rec); err != nil {
			return err
		}
	}
	if len(rec.Result.LockFile) > 0 {
		if err := f.records.PutLockFile(ctx, en.stack, rec.Result.LockFile); err != nil {
			return err
		}
	}
	if later {
		return nil
	}
	return f.records.Put(ctx, *rec)
}

// wrapUp stores the log and releases the lock before the result is stored: a run with a result is
// not looked at again.
func (f *ending) wrapUp(ctx context.Context, en *entry, rec *run.Record) error {
	var keep, unlock error
	var both sync.WaitGroup
	both.Go(func() { keep = en.keepLog(ctx, f.records, *rec) })
	if rec.LockHeld || en.resumed {
		both.Go(func() { unlock = f.locks.release(ctx, *rec) })
	}
	both.Wait()
	if err := errors.Join(keep, unlock); err != nil {
		return err
	}
	rec.LockHeld = false
	// An earlier server did not record the last state that it stored.
	if en.resumed && rec.Permitted && rec.Spec.Backend.Kind == run.BackendManaged {
		if now, err := f.opts.States.Read(ctx, records.StateKey(*rec)); err == nil {
			m := mark(now)
			rec.StateMark = &m
		}
	}
	return nil
}

// leave removes an ended run from the hand and notifies the waiters.
func (f *ending) leave(en *entry, rec run.Record, later bool) {
	en.now.Store(&rec)
	en.over = true
	f.ended.add(en, rec, later)
	en.log.Finish()
	f.evidence.Forget(en.id)
	f.hand.drop(en)
	f.opts.Observe(rec)
	f.opts.Ended(en.stack)
}

// retryPause is the pause between attempts to store the end of a run that has no runner.
const retryPause = 2 * time.Second

// finishLater retries until the end of a run is stored; its lock is held until then.
func (f *ending) finishLater(ctx context.Context, en *entry, result run.Result) {
	for {
		time.Sleep(retryPause)
		err := f.finish(ctx, en, result)
		if err == nil {
			return
		}
		f.opts.Log.Error("cannot record the end of a run", "stack", en.stack.String(), "run", en.id, "error", err)
	}
}
