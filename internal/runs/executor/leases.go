// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"cmp"
	"context"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/lease"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// Backend is what starts runners.
type Backend interface {
	// Run sees to it that somebody carries out the runs, until ctx ends. It calls ended each time a runner of a home
	// has ended, when Keeps has the answer for that home.
	Run(ctx context.Context, ended func(home string)) error
	// Keeps says whether the backend answers for a home: a runner works there, or another will follow and say what
	// became of the runs. The lease of such a home does not end. It must not block.
	Keeps(home string) bool
	// Starts says whether the backend would start a runner with this mark now. Any other finishes what it has and
	// leaves. It must not block.
	Starts(build string) bool
}

// noBackend is for servers that start no runner: whoever polls is welcome.
type noBackend struct{}

func (noBackend) Run(ctx context.Context, _ func(string)) error { <-ctx.Done(); return nil }
func (noBackend) Keeps(string) bool                             { return false }
func (noBackend) Starts(string) bool                            { return true }

// leaseChecks is how often a lease is looked at while it lasts.
const leaseChecks = 10

// Run has the backend carry out the runs, and ends those whose home's lease has ended, until ctx ends.
func (e *Executor) Run(ctx context.Context) error {
	go e.watchLeases(ctx)
	return e.opts.Backend.Run(ctx, func(home string) { e.runnerEnded(ctx, home) })
}

func (e *Executor) watchLeases(ctx context.Context) {
	tick := time.NewTicker(e.leaseLength() / leaseChecks)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := time.Now()
		if now.Sub(last) > 2*e.leaseLength()/leaseChecks { // this process was stopped, and heard nobody
			e.renewAll(now)
		}
		last = now
		e.settle(ctx, nil)
		e.forgetHomes()
	}
}

// runnerEnded ends the runs of a home where no runner will follow. Where one will, it says what became of them.
func (e *Executor) runnerEnded(ctx context.Context, home string) {
	if e.opts.Backend.Keeps(home) {
		return
	}
	e.mu.Lock()
	e.homeOf(home).gone = true
	e.mu.Unlock()
	e.settle(ctx, nil)
	e.forgetHomes()
}

func (e *Executor) leaseLength() time.Duration { return cmp.Or(e.opts.Lease, lease.Default) }

// renewAll begins all leases anew.
func (e *Executor) renewAll(now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, h := range e.homes {
		h.lease.Renewed = now
	}
}

// renew begins a home's lease anew because one of its runners has shipped something. The executor's lock is held.
func (e *Executor) renew(home string) {
	if home != "" {
		e.homeOf(home).lease.Renewed = time.Now()
	}
}

// home is what is known of a home and of its runner.
type home struct {
	lease lease.Home
	// gone is true once the backend has said that the home's runner has ended, and does not answer for the home.
	gone bool
	// dismissed is the runner of another build that was told to leave, leaving the stacks whose runs it finishes.
	dismissed string
	leaving   []run.Stack

	// What polls tell: when the last one ended, how many are being answered, and what was in them.
	seen    time.Time
	polls   int
	version string
	usage   *run.Usage
	// places is how many runs work at a time, ahead those that had no place yet.
	places int
	ahead  []string
}

// homeOf is a home by its name. One that was not known has its whole lease. The executor's lock is held.
func (e *Executor) homeOf(name string) *home {
	h := e.homes[name]
	if h == nil {
		h = &home{lease: lease.Home{Renewed: time.Now()}}
		e.homes[name] = h
	}
	return h
}

// forgetHomes drops what is known of homes that have no run and are not heard of any more.
func (e *Executor) forgetHomes() {
	now := time.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	used := map[string]bool{}
	for _, en := range e.hand {
		used[en.owner.Home] = true
	}
	for name, h := range e.homes {
		if !used[name] && h.polls == 0 && (h.gone || e.homeFacts(name).Ended(now, e.leaseLength())) {
			delete(e.homes, name)
		}
	}
}

// homeFacts is what is known of a home. The executor's lock is held.
func (e *Executor) homeFacts(name string) lease.Home {
	h := e.homeOf(name)
	facts := h.lease
	facts.Alive, facts.Gone = h.polls > 0 || e.opts.Backend.Keeps(name), h.gone
	return facts
}

// facts are what is known of those who have runs. The executor's lock is held.
func (e *Executor) facts(req *run.PollRequest) lease.Facts {
	f := lease.Facts{Now: time.Now(), Length: e.leaseLength(), Homes: map[string]lease.Home{}}
	if req != nil {
		f.Poll = &lease.Poll{Owner: lease.Owner{Home: req.Home, Runner: req.Runner}, Active: req.Active}
		f.Homes[req.Home] = e.homeFacts(req.Home)
	}
	for _, en := range e.hand {
		name := en.owner.Home
		if _, known := f.Homes[name]; !known && name != "" {
			f.Homes[name] = e.homeFacts(name)
		}
	}
	return f
}

// ownerOn is the owner that a record names: a run that began is somebody's, and one that was handed out to a home of
// its own is that home's.
func ownerOn(rec run.Record) lease.Owner {
	if rec.Started == nil && rec.Home == "" {
		return lease.Owner{}
	}
	return lease.Owner{Home: cmp.Or(rec.Home, run.HomeLocal), Runner: rec.Runner}
}

// homeOnRecord is a home as records name it.
func homeOnRecord(home string) string {
	if home == run.HomeLocal {
		return ""
	}
	return home
}
