// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/yuba-dev/yuba/internal/run"
	"github.com/yuba-dev/yuba/internal/state"
)

// finish lets a run's lock go, stores its result and takes it out of the hand; a quiet pass is stored afterwards. It is
// idempotent: the first result counts.
func (e *Executor) finish(ctx context.Context, en *entry, result run.Result) error {
	en.mu.Lock()
	defer en.mu.Unlock()
	if en.over {
		return nil
	}
	rec := en.rec
	if rec.Result == nil {
		// A runner that lost its own journal does not know how far the run had come.
		result.ApplyStarted = result.ApplyStarted || rec.Permitted && result.Outcome == run.OutcomeInterrupted
		if err := e.vouch(ctx, en, rec, &result); err != nil {
			return err
		}
		rec.Result = &result
	}
	// A pass that found something is kept under its own name.
	if rec.Quiet && !quiet(rec.Result) {
		rec.Quiet = false
	}
	if rec.Quiet {
		rec.Passes = e.quietSoFar(en.stack) + 1
	}
	later := rec.Quiet && !rec.LockHeld && !en.resumed
	if !later {
		if err := e.wrapUp(ctx, en, &rec); err != nil {
			return err
		}
	}
	if len(rec.Result.LockFile) > 0 {
		if err := e.opts.Blobs.PutBytes(ctx, en.stack.LockFileKey(), rec.Result.LockFile); err != nil {
			return fmt.Errorf("keep the dependency lock file of %s: %w", en.stack, err)
		}
	}
	if !later {
		if err := e.store(ctx, rec); err != nil {
			return err
		}
	}
	en.rec = rec
	en.over = true
	e.noteEnded(en.stack, en.rec)
	en.log.finish()
	if later {
		e.storeLater(en)
	}
	e.drop(en)
	if e.opts.Observe != nil {
		e.opts.Observe(rec)
	}
	if e.opts.Ended != nil {
		e.opts.Ended(en.stack)
	}
	return nil
}

// wrapUp does what comes before a result is stored. The log: who reads a result may read its log. The lock: all states
// of the run are stored, so nothing is left to protect, and a record with a result needs no further care.
func (e *Executor) wrapUp(ctx context.Context, en *entry, rec *run.Record) error {
	var keep, unlock error
	var both sync.WaitGroup
	both.Go(func() { keep = e.keepLog(ctx, en, *rec) })
	if rec.LockHeld || en.resumed {
		both.Go(func() { unlock = e.unlock(ctx, *rec) })
	}
	both.Wait()
	if err := errors.Join(keep, unlock); err != nil {
		return err
	}
	rec.LockHeld = false
	// The last state was stored under an earlier server, which did not put it on record.
	if en.resumed && rec.Permitted && rec.Spec.Backend.Kind == run.BackendManaged {
		if now, err := e.opts.States.Read(ctx, stateKey(*rec)); err == nil {
			m := mark(now)
			rec.StateMark = &m
		}
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
	e.queue.Remove(en.id)
	e.queue.Done(en.id)
	e.learn(en.rec)
	if e.byStack[en.stack] == en {
		delete(e.byStack, en.stack)
	}
	e.announce()
}

// unlock gives the run's lock back, if its kind takes one and it has it. Unlocking by the run's own id never takes
// another's lock: when somebody else holds it, this run's was broken, and nothing is left to give back.
func (e *Executor) unlock(ctx context.Context, rec run.Record) error {
	if rec.Spec.Operation == run.OperationPlan || rec.Spec.Backend.Kind != run.BackendManaged {
		return nil
	}
	err := e.opts.States.Unlock(ctx, stateKey(rec), rec.Spec.ID)
	if _, broken := asLocked(err); err != nil && !broken {
		return fmt.Errorf("release the lock of run %s of %s: %w", rec.Spec.ID, rec.Spec.Stack, err)
	}
	return nil
}

func stateKey(rec run.Record) state.Key {
	return state.Key{Namespace: rec.State.Namespace, Workspace: rec.State.Workspace, Suffix: rec.State.Suffix, Stack: rec.State.Stack, Tenant: rec.State.Tenant}
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
	for _, step := range []func(context.Context, *entry, run.ContinueRequest) (*run.ContinueResponse, error){
		e.comeForward, e.lock, e.ask,
	} {
		if no, err := step(ctx, en, req); err != nil || no != nil {
			return deref(no), err
		}
	}
	if !e.permit(en) {
		return *refuse(run.OutcomeCanceled, "", "the run was told to stop"), nil
	}
	rec := en.rec
	rec.Permitted = true
	if err := e.keep(ctx, en, rec); err != nil {
		return run.ContinueResponse{}, err
	}
	return run.ContinueResponse{Go: true}, nil
}

// keep stores a record and only then takes it for what is true: what is not on record would be forgotten by a crash,
// and nobody would try to store it again. The entry's lock is held.
func (e *Executor) keep(ctx context.Context, en *entry, rec run.Record) error {
	if err := e.store(ctx, rec); err != nil {
		return err
	}
	en.rec = rec
	return nil
}

// comeForward gives a pass that began quietly a record of its own and has the stack's status name it, which who permits
// sees to. That comes before the lock: a server that starts anew finds the lock's owner by the status. The entry's lock
// is held.
func (e *Executor) comeForward(ctx context.Context, en *entry, req run.ContinueRequest) (*run.ContinueResponse, error) {
	if en.rec.Announced {
		return nil, nil
	}
	rec := en.rec
	rec.Announced, rec.Quiet = true, false
	if err := e.keep(ctx, en, rec); err != nil {
		return nil, err
	}
	no, err := e.ask(ctx, en, req)
	if no != nil || err != nil {
		en.rec.Announced = false // the status does not name it, as far as is known here: the next attempt asks again
	}
	return no, err
}

// ask asks whether the apply is still wanted. The entry's lock is held.
func (e *Executor) ask(ctx context.Context, en *entry, req run.ContinueRequest) (*run.ContinueResponse, error) {
	if e.opts.Permit == nil {
		return nil, nil
	}
	p, err := e.opts.Permit(ctx, en.rec, req.Plan)
	if err != nil || p.Go {
		return nil, err
	}
	return refuse(run.OutcomeCanceled, "", p.Reason), nil
}

// permit marks the run as one that can no longer be called back, unless it was already.
func (e *Executor) permit(en *entry) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	en.permitted = !en.canceled
	return en.permitted
}

func refuse(o run.Outcome, c run.Failure, reason string) *run.ContinueResponse {
	return &run.ContinueResponse{Outcome: o, Class: c, Reason: reason}
}

func deref(r *run.ContinueResponse) run.ContinueResponse {
	if r == nil {
		return run.ContinueResponse{}
	}
	return *r
}

// lock takes the lock of a managed state for the run and makes sure that the state is still the one the run was given.
// The entry's lock is held.
func (e *Executor) lock(ctx context.Context, en *entry, req run.ContinueRequest) (*run.ContinueResponse, error) {
	if en.rec.Spec.Backend.Kind != run.BackendManaged {
		return nil, nil
	}
	key := stateKey(en.rec)
	// This goes on record with the permission. Until then, after a crash, any run without a result may have its lock.
	en.rec.LockHeld = true
	err := e.opts.States.Lock(ctx, key, e.lockInfo(en.rec))
	if held, ok := asLocked(err); ok {
		return refuse(run.OutcomeFailed, run.FailureLocked, held.Error()), nil
	}
	if err != nil {
		return nil, err
	}
	now, err := e.opts.States.Read(ctx, key, expectations(en.rec)...)
	if err != nil {
		return nil, err
	}
	current := mark(now)
	same := req.State == cmp.Or(current.Digest, run.NoState)
	// Which state it was goes on record with the permission, too. After a crash the runner knows.
	if en.rec.StateMark == nil && same {
		en.rec.StateMark = &current
	}
	// The runner's word counts beside ours: of two answers to its question it may have the other one.
	if given := en.rec.StateMark; given == nil || *given != current || req.State != "" && !same {
		return refuse(run.OutcomeFailed, run.FailureStalePlan, "the state moved since the plan was made; a fresh plan is needed"), nil
	}
	return nil, nil
}
