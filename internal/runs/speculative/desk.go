// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package speculative

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// Executor executes the runs.
type Executor interface {
	Prepare(ctx context.Context, rec run.Record) error
	Start(ctx context.Context, rec run.Record) error
	Cancel(ctx context.Context, id string) error
	InHand(stack run.Stack) (rec run.Record, canceled, ok bool)
	TakeEnded(stack run.Stack) (run.Record, bool)
	Recorded(stack run.Stack, id string)
	Forget(stack run.Stack)
	ReadPlan(ctx context.Context, stack run.Stack, id string) ([]byte, error)
	ReadPart(ctx context.Context, stack run.Stack, id, part string) ([]byte, error)
	WriteLog(ctx context.Context, stack run.Stack, id string, follow bool, w io.Writer) error
}

// Desk has the speculative plans of a server. They are in memory only: a new server does not know
// them, and its runners drop them. Nothing is left of one after its end but the answer and the
// planned outputs, while somebody asks for them.
type Desk struct {
	Executor Executor
	// Draft describes the run of a request.
	Draft func(ctx context.Context, stack run.Stack, r Request) (*run.Record, error)
	// Prune removes what the run of a stack has stored, Remove the source of a request.
	Prune  func(ctx context.Context, stack run.Stack) error
	Remove func(ctx context.Context, source run.Artifact) error
	// Judge asks policies about a plan of a stack, with the manifest of its request; nil if there are none.
	Judge func(ctx context.Context, owner run.Stack, rec run.Record, manifest []byte) (*Verdict, error)
	// Contracts checks planned outputs against the contracts that a stack publishes, with the manifest of
	// its request; nil if there are none.
	Contracts func(ctx context.Context, owner run.Stack, manifest []byte, planned *Planned, destroy bool) ([]Contract, error)
	Log       *slog.Logger

	mu   sync.Mutex
	byID map[string]*entry
}

// entry is one speculative plan.
type entry struct {
	// owner is the stack, stack the name under which the plan runs. by is the user.
	owner, stack run.Stack
	by           string
	source       *run.Artifact
	note         func(ctx context.Context, answer *Answer) error
	// manifest is that of the request, until the end: several requests may change one stack.
	manifest []byte
	// asked is when somebody last asked for it.
	asked   time.Time
	answer  Answer
	planned *Planned
	ended   chan struct{}
	// detailed asks for the details, which are set at its end.
	detailed bool
	details  details
}

const (
	// maxPlans limits the speculative plans in memory, running or not; maxSources those with a source
	// of their own, which are stored.
	maxPlans   = 1000
	maxSources = 50
	// patience is how long nobody may ask: then the plan ends, and is forgotten.
	patience = time.Minute
	every    = 5 * time.Second
	// clearPatience limits reading and removing what a plan left: the run has ended, and with it its
	// context.
	clearPatience = time.Minute
	// Wait is how long a request waits for the end of a plan.
	Wait = 20 * time.Second
)

// Start starts a speculative plan. from are versions for the answer. If inputs are unknown, the answer
// has ended and says so. In any case the desk removes the request's source.
func (d *Desk) Start(ctx context.Context, owner run.Stack, r Request, from ...string) (Answer, error) {
	e := &entry{owner: owner, by: r.By, source: r.removable(), asked: time.Now(), ended: make(chan struct{}), detailed: r.Detailed, manifest: r.Manifest, note: r.Note,
		answer: Answer{Namespace: owner.Namespace, Name: owner.Name, From: from}}
	rec, err := d.Draft(ctx, owner, r)
	if err != nil {
		d.clear(e)
		return e.undrafted(err)
	}
	e.stack, e.answer.Run, e.answer.Revision = rec.Spec.Stack, rec.Spec.ID, rec.Spec.Artifact.Revision
	e.answer.Inputs = rec.Spec.InputsDigest(r.Identity == nil)
	if err = d.add(rec.Spec.ID, e); err == nil {
		if err = d.Executor.Prepare(ctx, *rec); err == nil {
			err = d.Executor.Start(ctx, *rec)
		}
	}
	if err != nil {
		d.mu.Lock()
		delete(d.byID, rec.Spec.ID)
		d.mu.Unlock()
		d.clear(e)
		return Answer{}, err
	}
	return e.answer, nil
}

// removable is the source that ends with the plan.
func (r *Request) removable() *run.Artifact {
	if r.Kept {
		return nil
	}
	return r.Source
}

func (d *Desk) add(id string, e *entry) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	sources := 0
	for _, other := range d.byID {
		if other.source != nil && !other.over() {
			sources++
		}
	}
	switch {
	case len(d.byID) >= maxPlans:
		return &run.RefusedError{Message: fmt.Sprintf("this server has %d speculative plans already. Try again when they have ended", maxPlans)}
	case e.source != nil && sources >= maxSources:
		return &run.RefusedError{Message: fmt.Sprintf("this server has %d speculative plans of other sources already. Try again when they have ended", maxSources)}
	}
	if d.byID == nil {
		d.byID = map[string]*entry{}
	}
	d.byID[id] = e
	return nil
}

func (e *entry) over() bool {
	select {
	case <-e.ended:
		return true
	default:
		return false
	}
}

func (d *Desk) find(owner run.Stack, id string) (*entry, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.byID[id]
	if e == nil || e.owner != owner {
		return nil, fmt.Errorf("find the speculative plan %s of %s: %w", id, owner, run.ErrNotFound)
	}
	e.asked = time.Now()
	return e, nil
}

// Planned returns the planned outputs of a plan that has ended, for the user who started it.
func (d *Desk) Planned(owner run.Stack, id, by string) (*Planned, error) {
	e, err := d.find(owner, id)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case e.by != by:
		return nil, &run.RefusedError{Forbidden: true, Message: fmt.Sprintf("the speculative plan %s of %s belongs to another user", id, owner)}
	case e.planned == nil:
		return nil, &run.RefusedError{Message: fmt.Sprintf("the speculative plan %s of %s has not ended, or has failed: it has no planned outputs", id, owner)}
	}
	return e.planned, nil
}

// Wait returns a plan when it has ended, or after a while.
func (d *Desk) Wait(ctx context.Context, owner run.Stack, id string) (Answer, error) {
	e, err := d.find(owner, id)
	if err != nil {
		return Answer{}, err
	}
	timer := time.NewTimer(Wait)
	defer timer.Stop()
	select {
	case <-e.ended:
	case <-timer.C:
	case <-ctx.Done():
		return Answer{}, context.Cause(ctx)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	e.asked = time.Now()
	answer := e.answer
	if rec, _, ok := d.Executor.InHand(e.stack); ok {
		answer.Waits = rec.Waits
	}
	return answer, nil
}

// Cancel ends a plan, and forgets one that has ended.
func (d *Desk) Cancel(ctx context.Context, owner run.Stack, id string) error {
	e, err := d.find(owner, id)
	if err != nil {
		return err
	}
	if e.over() {
		d.mu.Lock()
		delete(d.byID, id)
		d.mu.Unlock()
		return nil
	}
	return d.Executor.Cancel(ctx, id)
}

// Over takes the end of a speculative plan, and removes what it stored.
func (d *Desk) Over(stack run.Stack) {
	rec, ended := d.Executor.TakeEnded(stack)
	if !ended {
		return // it waits for something else
	}
	d.mu.Lock()
	e := d.byID[rec.Spec.ID]
	d.mu.Unlock()
	if e != nil {
		ctx, cancel := context.WithTimeout(context.Background(), clearPatience)
		answer, planned := d.read(ctx, e, rec)
		var kept details
		if e.detailed {
			kept = d.readDetails(ctx, e, rec, &answer)
		}
		if e.note != nil {
			if err := e.note(ctx, &answer); err != nil {
				answer.Outcome, answer.Error = run.OutcomeFailed, "record the plan: "+err.Error()
			}
		}
		cancel()
		d.mu.Lock()
		e.answer, e.planned, e.details, e.manifest = answer, planned, kept, nil
		if !e.over() {
			close(e.ended)
		}
		d.mu.Unlock()
	} else {
		e = &entry{stack: stack}
	}
	d.Executor.Recorded(stack, rec.Spec.ID)
	d.clear(e)
}

// clear removes the working directory, the records and the source of a plan.
func (d *Desk) clear(e *entry) {
	ctx, cancel := context.WithTimeout(context.Background(), clearPatience)
	defer cancel()
	if e.source != nil {
		if err := d.Remove(ctx, *e.source); err != nil {
			d.Log.Warn("cannot remove the source of a speculative plan", "stack", e.owner.String(), "error", err)
		}
	}
	if e.stack == (run.Stack{}) {
		return
	}
	d.Executor.Forget(e.stack)
	if err := d.Prune(ctx, e.stack); err != nil {
		d.Log.Warn("cannot remove the record of a speculative plan", "stack", e.stack.String(), "error", err)
	}
}

// Run ends the plans whose clients are gone, until ctx ends.
func (d *Desk) Run(ctx context.Context) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			for _, id := range d.abandoned(time.Now()) {
				if err := d.Executor.Cancel(ctx, id); err != nil && !errors.Is(err, context.Canceled) {
					d.Log.Warn("cannot cancel a speculative plan that nobody waits for", "run", id, "error", err)
				}
			}
		}
	}
}

// abandoned forgets the ended plans that nobody asks for, and returns the others.
func (d *Desk) abandoned(now time.Time) (working []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, e := range d.byID {
		switch {
		case now.Sub(e.asked) < patience:
		case e.over():
			delete(d.byID, id)
		default:
			working = append(working, id)
		}
	}
	return working
}

func took(rec run.Record) run.Duration {
	started := rec.Created
	if rec.Started != nil {
		started = cmp.Or(*rec.Started, rec.Created)
	}
	return run.Duration(rec.Result.Finished.Sub(started))
}
