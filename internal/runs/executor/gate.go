// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/executor/records"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// gate decides whether a run may begin its apply, and whether its plan may be kept.
type gate struct {
	opts    *Options
	hand    *hand
	records records.Store
	locks   locks
}

func refuse(o run.Outcome, c run.Failure, reason string) *run.ContinueResponse {
	return &run.ContinueResponse{Outcome: o, Class: c, Reason: reason}
}

// proceed decides whether an apply may begin. It locks the state before it asks, so that nothing
// changes in between. The result of a refused run releases the lock.
func (g *gate) proceed(ctx context.Context, en *entry, req run.ContinueRequest) (*run.ContinueResponse, error) {
	en.mu.Lock()
	defer en.mu.Unlock()
	if en.over {
		return nil, errOver
	}
	if en.record().Permitted {
		return &run.ContinueResponse{Go: true}, nil
	}
	for _, step := range []func(context.Context, *entry, run.ContinueRequest) (*run.ContinueResponse, error){
		g.comeForward, g.lock, g.ask,
	} {
		if no, err := step(ctx, en, req); err != nil || no != nil {
			return no, err
		}
	}
	var goes bool
	g.hand.locked(func() {
		goes = !en.canceled
		en.permitted = goes
	})
	if !goes {
		return refuse(run.OutcomeCanceled, "", "the run was canceled"), nil // the result will say by whom
	}
	rec := en.record()
	rec.Permitted, rec.Planning = true, rec.Spec.Direct && rec.Spec.Operation == run.OperationPlanAndApply && req.Plan == nil
	rec.Began = rec.StateMark
	if p := req.Plan; p.TellsFates() {
		rec.Planned, rec.PlannedTotal, rec.PlannedNone = p.Fates, p.FatesTotal, p.FatesTotal == 0
	}
	if err := en.keep(ctx, g.records, rec); err != nil {
		return nil, err
	}
	return &run.ContinueResponse{Go: true}, nil
}

// comeForward gives a quiet pass its own record and has Permit name it in the status. That comes
// before the state's lock, whose run a new server finds in the status. The entry's lock is held.
func (g *gate) comeForward(ctx context.Context, en *entry, req run.ContinueRequest) (*run.ContinueResponse, error) {
	rec := en.record()
	if rec.Announced {
		return nil, nil
	}
	rec.Announced, rec.Quiet = true, false
	if err := en.keep(ctx, g.records, rec); err != nil {
		return nil, err
	}
	no, err := g.ask(ctx, en, req)
	if no != nil || err != nil { // the status may not name it: the next attempt asks again
		en.change(func(rec *run.Record) { rec.Announced = false })
	}
	return no, err
}

// ask asks Permit whether the apply is still wanted. The entry's lock is held.
func (g *gate) ask(ctx context.Context, en *entry, req run.ContinueRequest) (*run.ContinueResponse, error) {
	p, err := g.opts.Permit(ctx, en.record(), req.Plan)
	if err != nil || p.Go {
		return nil, err
	}
	return refuse(run.OutcomeCanceled, "", p.Reason), nil
}

// lock locks a managed state. It verifies that the run got this state and that the API will store
// its successor. The entry's lock is held.
func (g *gate) lock(ctx context.Context, en *entry, req run.ContinueRequest) (*run.ContinueResponse, error) {
	if en.spec.Backend.Kind != run.BackendManaged {
		return nil, nil
	}
	// This is stored with the permission. Before that, assume that a run without a result holds it.
	en.change(func(rec *run.Record) { rec.LockHeld = true })
	rec := en.record()
	key := records.StateKey(rec)
	if err := g.opts.States.Lock(ctx, key, g.locks.info(rec)); err != nil {
		if held := asLocked(err); held != nil {
			return refuse(run.OutcomeFailed, run.FailureLocked, held.Error()), nil
		}
		return nil, err
	}
	now, err := g.opts.States.Read(ctx, key, expectations(rec)...)
	if err != nil {
		return nil, err
	}
	if err := g.opts.States.Room(ctx, key, now, rec.State.Labels); err != nil {
		var denied *state.DeniedError
		if errors.As(err, &denied) {
			return refuse(run.OutcomeFailed, run.FailureState, denied.Error()), nil
		}
		return nil, err
	}
	en.change(func(rec *run.Record) { rec.StateOwners = ownersOf(now) })
	current := mark(now)
	same := req.State == cmp.Or(current.Digest, run.NoState)
	// The mark of the state is stored with the permission, too. After a crash the runner knows it.
	given := rec.StateMark
	if given == nil && same {
		given = &current
		en.change(func(rec *run.Record) { rec.StateMark = given })
	}
	// The runner may have got another state than the recorded one.
	if given == nil || *given != current || req.State != "" && !same {
		return refuse(run.OutcomeFailed, run.FailureStalePlan, "the state has changed since the plan was made; a fresh plan is needed"), nil
	}
	return nil, nil
}

// ownersOf converts the owners of a state to the protocol's type.
func ownersOf(s *state.Snapshot) run.StateOwners {
	owners := run.StateOwners{Scope: s.Ownership.Scope}
	for _, owner := range s.Ownership.Owners {
		owners.Stacks = append(owners.Stacks, run.StateOwner(owner))
	}
	return owners
}

// reviewing is one review of a plan. Requests during the review wait for the same answer.
type reviewing struct {
	done   chan struct{}
	answer Permission
	err    error
}

// errReviewing makes a runner repeat its request: its connections have timeouts.
var errReviewing = refused(http.StatusServiceUnavailable, "the review of the plan is not over yet")

// review decides whether a plan may be kept or applied. It holds no lock while it waits.
func (g *gate) review(ctx context.Context, en *entry, req run.ContinueRequest) (*run.ContinueResponse, error) {
	en.mu.Lock()
	rec, r := en.record(), en.review
	if r == nil {
		r = &reviewing{done: make(chan struct{})}
		en.review = r
		go func() {
			defer close(r.done)
			// If this request has ended, the next one gets the answer.
			r.answer, r.err = g.opts.Review(context.WithoutCancel(ctx), rec, req.Plan)
		}()
	}
	en.mu.Unlock()
	patience := time.NewTimer(run.PollWait)
	defer patience.Stop()
	select {
	case <-r.done:
	case <-patience.C:
		return nil, errReviewing
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return en.conclude(r)
}

// inspect decides whether a configuration may be planned after its init.
func (g *gate) inspect(ctx context.Context, en *entry, req run.ContinueRequest) (*run.ContinueResponse, error) {
	if req.Installed == nil {
		return nil, refused(http.StatusBadRequest, "a question after init needs the installed configuration")
	}
	answer, err := g.opts.Inspect(ctx, en.record(), req.Installed)
	switch {
	case err != nil:
		return nil, err
	case answer.Go:
		return &run.ContinueResponse{Go: true}, nil
	}
	en.change(func(rec *run.Record) { rec.RefusedUntil = answer.Until })
	return refuse(run.OutcomeFailed, run.FailurePolicy, answer.Reason), nil
}

// conclude answers by a review that is over. After an error, the next request starts another one.
func (en *entry) conclude(r *reviewing) (*run.ContinueResponse, error) {
	switch {
	case r.err != nil:
		en.mu.Lock()
		defer en.mu.Unlock()
		if en.review == r {
			en.review = nil
		}
		return nil, r.err
	case r.answer.Go:
		return &run.ContinueResponse{Go: true}, nil
	}
	return refuse(run.OutcomeFailed, run.FailureRefused, r.answer.Reason), nil
}
