// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// finish lets a run's lock go, stores its result and takes it out of the hand; a quiet pass is stored afterwards. It is
// idempotent: the first result counts.
func (e *Executor) finish(ctx context.Context, en *entry, result run.Result) error {
	en.mu.Lock()
	defer en.mu.Unlock()
	if en.over {
		return nil
	}
	rec := en.record()
	if rec.Result == nil {
		if err := e.judge(ctx, en, rec, &result); err != nil {
			return err
		}
		rec.Result, rec.Planning = &result, false
		rec.Planned = nil // the result says what came of it
	}
	// A pass that found something is kept under its own name.
	if rec.Quiet && !quiet(rec.Result) {
		rec.Quiet = false
	}
	if rec.Quiet {
		rec.Passes = e.quietSoFar(en.stack) + 1
	}
	later := rec.Quiet && !rec.LockHeld && !en.resumed
	if err := e.putOnRecord(ctx, en, &rec, later); err != nil {
		return err
	}
	e.leave(en, rec, later)
	return nil
}

// judge makes sure that the result a runner gives is the whole truth.
func (e *Executor) judge(ctx context.Context, en *entry, rec run.Record, result *run.Result) error {
	// A runner that lost its own journal does not know how far the run had come.
	result.ApplyStarted = result.ApplyStarted || rec.Permitted && result.Outcome == run.OutcomeInterrupted
	if err := e.vouch(ctx, en, rec, result); err != nil {
		return err
	}
	e.sayWhoStopped(en, result)
	en.onePlan(result)
	return e.account(ctx, en, rec, result)
}

// putOnRecord stores what the run has left. The record of a quiet pass is stored later.
func (e *Executor) putOnRecord(ctx context.Context, en *entry, rec *run.Record, later bool) error {
	if !later {
		if err := e.wrapUp(ctx, en, rec); err != nil {
			return err
		}
	}
	if len(rec.Result.LockFile) > 0 {
		if err := e.opts.Blobs.PutBytes(ctx, en.stack.LockFileKey(), rec.Result.LockFile); err != nil {
			return fmt.Errorf("keep the dependency lock file of %s: %w", en.stack, err)
		}
	}
	if later {
		return nil
	}
	return e.store(ctx, *rec)
}

// leave takes a run that is over out of the hand and tells those who wait for its end.
func (e *Executor) leave(en *entry, rec run.Record, later bool) {
	en.now.Store(&rec)
	en.over = true
	e.noteEnded(en.stack, rec)
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
	delete(e.unread, en.id)
	e.queue.Remove(en.id)
	e.queue.Done(en.id)
	e.learn(en.record())
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
	return state.Key{Namespace: rec.State.Namespace, Workspace: rec.State.Workspace, Suffix: rec.State.Suffix, Stack: rec.State.Stack, UID: claimant(rec),
		Scope: rec.State.Scope}
}

// claimant is the UID of the stack that owns what the run writes; empty when the run makes nobody an owner: work by hand
// says nothing about what is to be applied later, and a run with targets nothing about the rest.
func claimant(rec run.Record) string {
	if rec.Spec.Operation.ByHand() || len(rec.Spec.Targets) > 0 {
		return ""
	}
	return rec.Spec.Stack.UID
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
	if en.over {
		return run.ContinueResponse{}, errOver
	}
	if en.record().Permitted {
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
		return *refuse(run.OutcomeCanceled, "", "the run was told to stop"), nil // by whom goes on record with the result
	}
	rec := en.record()
	rec.Permitted, rec.Planning = true, rec.Spec.Direct && rec.Spec.Operation == run.OperationPlanAndApply && req.Plan == nil
	rec.Began = rec.StateMark
	if p := req.Plan; tellsFates(p) {
		rec.Planned, rec.PlannedTotal, rec.PlannedNone = p.Fates, p.FatesTotal, p.FatesTotal == 0
	}
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
	en.now.Store(&rec)
	return nil
}

// comeForward gives a pass that began quietly a record of its own and has the stack's status name it, which who permits
// sees to. That comes before the lock: a server that starts anew finds the lock's owner by the status. The entry's lock
// is held.
func (e *Executor) comeForward(ctx context.Context, en *entry, req run.ContinueRequest) (*run.ContinueResponse, error) {
	rec := en.record()
	if rec.Announced {
		return nil, nil
	}
	rec.Announced, rec.Quiet = true, false
	if err := e.keep(ctx, en, rec); err != nil {
		return nil, err
	}
	no, err := e.ask(ctx, en, req)
	if no != nil || err != nil { // the status may not name it: the next attempt asks again
		en.change(func(rec *run.Record) { rec.Announced = false })
	}
	return no, err
}

// ask asks whether the apply is still wanted. The entry's lock is held.
func (e *Executor) ask(ctx context.Context, en *entry, req run.ContinueRequest) (*run.ContinueResponse, error) {
	if e.opts.Permit == nil {
		return nil, nil
	}
	p, err := e.opts.Permit(ctx, en.record(), req.Plan)
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

// ownersOf are the owners of a state in the words of the protocol.
func ownersOf(s *state.Snapshot) run.StateOwners {
	owners := run.StateOwners{Scope: s.Ownership.Scope}
	for _, owner := range s.Ownership.Owners {
		owners.Stacks = append(owners.Stacks, run.StateOwner(owner))
	}
	return owners
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
	if en.spec.Backend.Kind != run.BackendManaged {
		return nil, nil
	}
	// This goes on record with the permission. Until then, after a crash, any run without a result may have its lock.
	en.change(func(rec *run.Record) { rec.LockHeld = true })
	rec := en.record()
	key := stateKey(rec)
	err := e.opts.States.Lock(ctx, key, e.lockInfo(rec))
	if held, ok := asLocked(err); ok {
		return refuse(run.OutcomeFailed, run.FailureLocked, held.Error()), nil
	}
	if err != nil {
		return nil, err
	}
	now, err := e.opts.States.Read(ctx, key, expectations(rec)...)
	if err != nil {
		return nil, err
	}
	if no, err := e.room(ctx, en, now); no != nil || err != nil {
		return no, err
	}
	current := mark(now)
	en.change(func(rec *run.Record) { rec.StateOwners = ownersOf(now) })
	same := req.State == cmp.Or(current.Digest, run.NoState)
	// Which state it was goes on record with the permission, too. After a crash the runner knows.
	given := rec.StateMark
	if given == nil && same {
		given = &current
		en.change(func(rec *run.Record) { rec.StateMark = given })
	}
	// The runner's word counts beside ours: of two answers to its question it may have the other one.
	if given == nil || *given != current || req.State != "" && !same {
		return refuse(run.OutcomeFailed, run.FailureStalePlan, "the state moved since the plan was made; a fresh plan is needed"), nil
	}
	return nil, nil
}
