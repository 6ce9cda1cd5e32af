// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/lease"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// dispatch hands runs to runners, and ends runs that package lease declares lost.
type dispatch struct {
	opts   *Options
	hand   *hand
	homes  *homes
	ending *ending

	// draining is guarded by hand.mu. drainSent is closed once a runner has got the order to drain.
	draining  bool
	drainSent chan struct{}
	drainOnce sync.Once
}

// leaseChecks is how often leases are checked during the length of one.
const leaseChecks = 10

// Run has the backend execute runs, and ends runs whose lease has ended, until ctx ends.
func (d *dispatch) Run(ctx context.Context) error {
	go d.watchLeases(ctx)
	return d.opts.Backend.Run(ctx, demand{d, ctx})
}

func (d *dispatch) watchLeases(ctx context.Context) {
	pause := d.homes.length / leaseChecks
	tick := time.NewTicker(pause)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := time.Now()
		if now.Sub(last) > 2*pause { // this process was suspended and received no polls
			d.hand.locked(func() { d.homes.renewAll(now) })
		}
		d.settle(ctx, nil)
		d.forgetHomes()
		last = time.Now() // ending runs may have taken long
	}
}

// runnerEnded ends the runs of a home unless another runner will say what became of them.
func (d *dispatch) runnerEnded(ctx context.Context, home, why string) {
	if d.opts.Backend.Keeps(home) {
		return
	}
	d.hand.locked(func() {
		h := d.homes.of(home)
		h.gone, h.why = true, cmp.Or(h.why, why) // the first report knows most
	})
	d.settle(ctx, nil)
	d.forgetHomes()
}

func (d *dispatch) forgetHomes() {
	d.hand.mu.Lock()
	defer d.hand.mu.Unlock()
	used := map[string]bool{}
	for _, en := range d.hand.runs {
		used[en.owner.Home] = true
	}
	d.homes.forget(used)
}

// settle applies package lease to the runs in hand and returns those that the polling runner must
// forget: another home's, and those not in hand when it asked. req is nil without a poll.
func (d *dispatch) settle(ctx context.Context, req *run.PollRequest) (forget []string) {
	lost := map[*entry]string{}
	var again []*entry
	d.hand.mu.Lock()
	facts := d.facts(req)
	if req != nil && !facts.Stale() {
		forget = d.note(*req)
	}
	for _, en := range d.hand.runs {
		if en.held { // not a runner's
			continue
		}
		switch lease.Decide(lease.Run{ID: en.id, Owner: en.owner, Begun: en.started}, facts) {
		case lease.Stays:
		case lease.Claimed: // a restarted server may have queued it
			en.owner = facts.Poll.Owner
			d.hand.queue.Running(en.id, en.stack.Namespace, en.class)
		case lease.Foreign:
			forget = append(forget, en.id)
		case lease.Again:
			again = append(again, en)
		case lease.Lost:
			lost[en] = cmp.Or(d.homes.of(en.owner.Home).why, "is gone and left nothing behind")
		case lease.Unheard:
			lost[en] = fmt.Sprintf("has not reported for %s", d.homes.length)
		}
	}
	d.requeue(again)
	d.hand.mu.Unlock()
	d.disown(ctx, again)
	for en, why := range lost {
		rec := en.record()
		d.opts.Log.Warn("a run has lost its runner, which "+why, "stack", en.stack.String(), "run", en.id, "runner", rec.Runner)
		if err := d.ending.finish(ctx, en, interrupted(rec, why)); err != nil {
			d.opts.Log.Error("cannot record an interrupted run", "stack", en.stack.String(), "run", en.id, "error", err)
		}
	}
	return forget
}

// requeue queues runs that no runner has. hand.mu is held.
func (d *dispatch) requeue(runs []*entry) {
	for _, en := range runs {
		en.owner = lease.Owner{}
		d.hand.wait(en)
	}
	if len(runs) > 0 {
		d.hand.announce()
	}
}

// takeBack queues the runs that a silent home was given and has not begun. Their tokens are void: if
// its runner wakes, the server knows it not.
func (d *dispatch) takeBack(ctx context.Context, home string) {
	var again []*entry
	d.hand.locked(func() {
		for _, en := range d.hand.runs {
			if en.owner.Home == home && !en.started && !en.claimed && !en.held {
				en.token = run.NewToken()
				en.change(func(rec *run.Record) { rec.Token = en.token })
				again = append(again, en)
			}
		}
		d.requeue(again)
	})
	d.disown(ctx, again)
}

// disown has the records of queued runs name no home: a server that starts anew would believe them.
func (d *dispatch) disown(ctx context.Context, runs []*entry) {
	for _, en := range runs {
		if err := d.forgetOwner(ctx, en); err != nil {
			d.opts.Log.Error("recording that a run waits again", "stack", en.stack.String(), "run", en.id, "error", err)
		}
	}
}

func (d *dispatch) forgetOwner(ctx context.Context, en *entry) error {
	en.mu.Lock()
	defer en.mu.Unlock()
	rec := en.record()
	if en.over || rec.Home == "" {
		return nil
	}
	var owner lease.Owner
	d.hand.locked(func() { owner = en.owner })
	if owner.Home != "" { // it was handed out meanwhile, and its record names that home
		return nil
	}
	rec.Home = ""
	return en.keep(ctx, d.ending.records, rec)
}

func interrupted(rec run.Record, why string) run.Result {
	r := run.Result{Outcome: run.OutcomeInterrupted, Class: run.FailureKilled, Finished: time.Now(), ApplyStarted: rec.Permitted}
	r.Error = fmt.Sprintf("The runner of run %s %s.", rec.Spec.ID, why)
	if r.ApplyStarted {
		r.Error += " Changes after its last stored state are not in the state."
	}
	return r
}

// facts describes the homes that have runs, and the poll. hand.mu is held.
func (d *dispatch) facts(req *run.PollRequest) lease.Facts {
	f := lease.Facts{Now: time.Now(), Length: d.homes.length, Homes: map[string]lease.Home{}}
	if req != nil {
		f.Poll = &lease.Poll{Owner: lease.Owner{Home: req.Home, Runner: req.Runner}, Active: req.Active}
		f.Homes[req.Home] = d.homes.facts(req.Home)
	}
	for _, en := range d.hand.runs {
		name := en.owner.Home
		if _, known := f.Homes[name]; !known && name != "" {
			f.Homes[name] = d.homes.facts(name)
		}
	}
	return f
}

// note records the rest of a poll and returns its runs that the server does not know. hand.mu is
// held.
func (d *dispatch) note(req run.PollRequest) (unknown []string) {
	d.noteLeaving(req)
	d.homes.deleted = slices.DeleteFunc(d.homes.deleted, func(s run.Stack) bool { return slices.Contains(req.Removed, s) })
	for _, id := range req.Active {
		if d.hand.runs[id] == nil {
			unknown = append(unknown, id)
		}
	}
	return unknown
}

// noteLeaving records the stacks whose runs a dismissed runner still finishes. If they changed, it
// has waiting stacks reconciled, because their conditions name them. hand.mu is held.
func (d *dispatch) noteLeaving(req run.PollRequest) {
	var leaving []run.Stack
	for _, id := range req.Active {
		if en := d.hand.runs[id]; en != nil && !d.opts.Backend.Starts(req.Build) {
			leaving = append(leaving, en.stack)
		}
	}
	h := d.homes.of(req.Home)
	if slices.Equal(leaving, h.leaving) {
		return
	}
	h.leaving = leaving
	for _, en := range d.hand.runs {
		if d.hand.waits(en) {
			d.opts.Ended(en.stack)
		}
	}
}

// Drain lets runners finish their runs. The channel is closed once one has got the order.
func (d *dispatch) Drain() <-chan struct{} {
	d.hand.mu.Lock()
	defer d.hand.mu.Unlock()
	d.draining = true
	d.hand.announce()
	return d.drainSent
}

// noteDrainSent records that a runner has got the order to drain, if the whole server drains.
func (d *dispatch) noteDrainSent() {
	d.hand.mu.Lock()
	defer d.hand.mu.Unlock()
	if d.draining {
		d.drainOnce.Do(func() { close(d.drainSent) })
	}
}
