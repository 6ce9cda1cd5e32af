// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"fmt"
	"time"

	"github.com/yuba-dev/yuba/internal/run"
	"github.com/yuba-dev/yuba/internal/state"
)

// finish stores a run's result, lets its lock go and takes it out of the hand. It is idempotent: the first result
// counts.
func (e *Executor) finish(ctx context.Context, en *entry, result run.Result) error {
	en.mu.Lock()
	defer en.mu.Unlock()
	if en.over {
		return nil
	}
	rec := en.rec
	if rec.Result == nil {
		rec.Result = &result
	}
	// A pass that found something is kept under its own name.
	if rec.Quiet && !quiet(rec.Result) {
		rec.Quiet = false
	}
	if rec.Quiet {
		rec.Passes++
	}
	// The log comes first: who reads a result may read its log.
	if err := e.keepLog(ctx, en, rec); err != nil {
		return err
	}
	if len(rec.Result.LockFile) > 0 {
		if err := e.opts.Blobs.PutBytes(ctx, en.stack.LockFileKey(), rec.Result.LockFile); err != nil {
			return fmt.Errorf("keep the dependency lock file of %s: %w", en.stack, err)
		}
	}
	if err := e.store(ctx, rec); err != nil {
		return err
	}
	en.rec = rec
	if err := e.release(ctx, &en.rec); err != nil {
		return err
	}
	en.over = true
	if !en.rec.Announced {
		e.noteEnded(en.stack, en.rec)
	}
	en.log.finish()
	e.drop(en)
	if e.opts.Ended != nil {
		e.opts.Ended(en.stack)
	}
	return nil
}

// quiet tells whether a pass found nothing worth a record of its own.
func quiet(r *run.Result) bool {
	return r.Outcome == run.OutcomeSucceeded && !r.ApplyStarted && (r.Plan == nil || !r.Plan.Changes)
}

func (e *Executor) drop(en *entry) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.hand, en.id)
	if e.byStack[en.stack] == en {
		delete(e.byStack, en.stack)
	}
	e.announce()
}

// release gives the run's lock back, if it may hold one. Unlocking by the run's own id never takes another's lock.
func (e *Executor) release(ctx context.Context, rec *run.Record) error {
	if !rec.LockHeld {
		return nil
	}
	if err := e.opts.States.Unlock(ctx, stateKey(*rec), rec.Spec.ID); err != nil {
		return fmt.Errorf("release the lock of run %s of %s: %w", rec.Spec.ID, rec.Spec.Stack, err)
	}
	rec.LockHeld = false
	return e.store(ctx, *rec)
}

func stateKey(rec run.Record) state.Key {
	return state.Key{Namespace: rec.State.Namespace, Workspace: rec.State.Workspace, Suffix: rec.State.Suffix, Stack: rec.State.Stack}
}

func expectations(rec run.Record) []state.ReadOption {
	if rec.State.Existing {
		return []state.ReadOption{state.ExpectExisting()}
	}
	return nil
}

// proceed answers whether an apply may begin. It takes the state's lock first and asks afterwards, so that nothing can
// change between the answer and the apply; a "no" gives the lock back with the result.
func (e *Executor) proceed(ctx context.Context, en *entry, req run.ContinueRequest) (run.ContinueResponse, error) {
	en.mu.Lock()
	defer en.mu.Unlock()
	if en.rec.Permitted {
		return run.ContinueResponse{Go: true}, nil
	}
	if en.rec.Spec.Backend.Kind == run.BackendManaged {
		if no, err := e.lock(ctx, en); err != nil || no != nil {
			return deref(no), err
		}
	}
	if e.opts.Permit != nil {
		p, err := e.opts.Permit(ctx, en.rec, req.Plan)
		if err != nil {
			return run.ContinueResponse{}, err
		}
		if !p.Go {
			return refuse(run.OutcomeCanceled, "", p.Reason), nil
		}
	}
	if !e.permit(en) {
		return refuse(run.OutcomeCanceled, "", "the run was told to stop"), nil
	}
	// From here on the run leaves a record of its own, and the stack's status names it: who permitted saw to that.
	en.rec.Permitted, en.rec.Announced, en.rec.Quiet = true, true, false
	return run.ContinueResponse{Go: true}, e.store(ctx, en.rec)
}

// permit marks the run as one that can no longer be called back, unless it was already.
func (e *Executor) permit(en *entry) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	en.permitted = !en.canceled
	return en.permitted
}

func refuse(o run.Outcome, c run.Failure, reason string) run.ContinueResponse {
	return run.ContinueResponse{Outcome: o, Class: c, Reason: reason}
}

func deref(r *run.ContinueResponse) run.ContinueResponse {
	if r == nil {
		return run.ContinueResponse{}
	}
	return *r
}

// lock takes the state's lock for the run and makes sure that the state is still the one the run was given. The
// entry's lock is held.
func (e *Executor) lock(ctx context.Context, en *entry) (*run.ContinueResponse, error) {
	key := stateKey(en.rec)
	// On record before it is taken: a crash in between is followed by an unlock that finds nothing to do.
	if !en.rec.LockHeld {
		en.rec.LockHeld = true
		if err := e.store(ctx, en.rec); err != nil {
			return nil, err
		}
	}
	err := e.opts.States.Lock(ctx, key, state.LockInfo{ID: en.id, Operation: "OperationTypeApply",
		Info: "yuba run " + en.id, Who: e.opts.Holder, Version: e.opts.Version, Created: time.Now().UTC(), Path: key.SecretName()})
	if held, ok := asLocked(err); ok {
		r := refuse(run.OutcomeFailed, run.FailureLocked, held.Error())
		return &r, nil
	}
	if err != nil {
		return nil, err
	}
	now, err := e.opts.States.Read(ctx, key, expectations(en.rec)...)
	if err != nil {
		return nil, err
	}
	if given := en.rec.StateMark; given == nil || *given != mark(now) {
		r := refuse(run.OutcomeFailed, run.FailureStalePlan, "the state moved since the plan was made; a fresh plan is needed")
		return &r, nil
	}
	return nil, nil
}
