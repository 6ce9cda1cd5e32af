// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"errors"

	"github.com/yuba-dev/yuba/internal/runs/executor/evidence"
	"github.com/yuba-dev/yuba/internal/runs/executor/records"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// Executor keeps the runs in hand. Its parts refer to the parts that they need, never to the
// Executor. Its methods are safe for concurrent use.
type Executor struct {
	opts *Options
	// Memory: runs in hand with the runners' homes, and ended runs.
	*hand
	*ended
	// The store, and queries of store and memory.
	store records.Store
	*queries
	// The parts that start runs, hand them out and end them.
	*manual
	*dispatch
	*stopping
	*ending
	*protocol
}

// New returns an Executor without runs.
func New(options Options) (*Executor, error) {
	opts := options.withDefaults()
	if err := opts.makeDirs(); err != nil {
		return nil, err
	}
	homes, store, locks := newHomes(opts), records.Store{Blobs: opts.Blobs, Kinds: &records.Kinds{}}, locks{opts}
	hand, ended := newHand(opts, homes), newEnded(store, opts.Log)
	queries := &queries{hand: hand, ended: ended, records: store}
	ending := &ending{opts: opts, hand: hand, ended: ended, records: store, locks: locks,
		evidence: evidence.New(queries, opts.States, opts.Blobs, opts.ReadPatience, opts.Log)}
	dispatch := &dispatch{opts: opts, hand: hand, homes: homes, ending: ending, drainSent: make(chan struct{})}
	return &Executor{
		opts: opts, hand: hand, ended: ended, store: store, queries: queries,
		manual:   &manual{opts: opts, hand: hand, ending: ending, locks: locks},
		dispatch: dispatch,
		stopping: &stopping{hand: hand, ending: ending},
		ending:   ending,
		protocol: &protocol{opts: opts, hand: hand, dispatch: dispatch, ending: ending,
			gate:   &gate{opts: opts, hand: hand, records: store, locks: locks},
			states: &stateIntake{states: opts.States, hand: hand}},
	}, nil
}

// Credential is the runners' own bearer token.
func (e *Executor) Credential() string { return e.opts.Credential }

// Prepare stores the record of a run before its start, unless it is a quiet pass.
func (e *Executor) Prepare(ctx context.Context, rec run.Record) error {
	if rec.Quiet {
		return nil
	}
	return e.store.Put(ctx, rec)
}

// Start queues a prepared run, once. It returns run.ErrBusy if another run of the stack is in hand.
func (e *Executor) Start(_ context.Context, rec run.Record) error { return e.take(rec, false) }

// Resume takes up a run of an earlier server. If its apply may have begun, it waits for its runner;
// otherwise it is queued, and a runner that has it says so before it gets work. A returned record
// with a result was not taken up. A run that has a log but no record is a run.ErrDamaged.
func (e *Executor) Resume(ctx context.Context, stack run.Stack, id string) (run.Record, error) {
	if en := e.hand.find(stack, id); en != nil {
		return en.record(), nil
	}
	rec, err := e.Record(ctx, stack, id)
	if errors.Is(err, run.ErrNotFound) {
		return rec, e.lost(ctx, stack, id, err)
	}
	if err != nil || rec.Result != nil {
		return rec, err
	}
	if err := e.take(rec, true); err != nil {
		return rec, err
	}
	if err := e.resume(ctx, stack, id); err != nil {
		return rec, err
	}
	if done, ok := e.ended.find(stack, id); ok {
		return done, nil
	}
	return rec, nil
}

// Forget drops the runs of a deleted stack, and has its working directory removed.
func (e *Executor) Forget(stack run.Stack) {
	e.ended.forget(stack)
	e.hand.mu.Lock()
	defer e.hand.mu.Unlock()
	e.hand.homes.deleted = append(e.hand.homes.deleted, stack)
	delete(e.costs, stack)
	e.announce()
}
