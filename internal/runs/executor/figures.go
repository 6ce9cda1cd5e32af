// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"cmp"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/queue"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// Figures are numbers about what is in hand. They are had at the cost of what is at work and of the namespaces that
// wait, not of the runs that do.
type Figures struct {
	// Lines are the runs that wait for a runner.
	Lines []queue.Line
	// AtWork counts those that are carried out, by what they do; Applying are those of them that may change something.
	AtWork   map[Work]int
	Applying int
	// Prepared are runs that the runner prepares beside those: they have no place yet.
	Prepared int
	// Unstored are passes that found nothing and are not on record yet.
	Unstored int
	Runner   Runner
}

// Work is what a run does, for whom.
type Work struct {
	Namespace string
	Operation run.Operation
	Purpose   run.Purpose
}

// Runner is what is known of the runner that was heard last.
type Runner struct {
	// Seen is when it was last heard; zero for never. Asking is true while it waits for an answer.
	Seen   time.Time
	Asking bool
	// Version is its version, Usage what it said that it takes; nil when it does not tell.
	Version string
	Usage   *run.Usage
}

// hear takes note that a runner asks; what it returns, that it has its answer.
func (e *Executor) hear(req run.PollRequest) func() {
	e.mu.Lock()
	defer e.mu.Unlock()
	h, now := e.homeOf(req.Home), time.Now()
	h.polls++
	if !h.lease.Left(req.Runner) {
		h.lease, h.gone = h.lease.Takes(req.Runner, now), false
		h.seen, h.version = now, req.Version
		h.places, h.ahead = req.Places, req.Ahead
		h.usage = cmp.Or(req.Usage, h.usage)
	}
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		h.polls--
		if h.lease.Runner == req.Runner {
			h.seen = time.Now()
			h.lease.Renewed = h.seen
		}
	}
}

// lastRunner is the runner that was heard last. The executor's lock is held.
func (e *Executor) lastRunner() (last Runner) {
	for _, h := range e.homes {
		if h.seen.After(last.Seen) {
			last = Runner{Seen: h.seen, Asking: h.polls > 0, Version: h.version, Usage: h.usage}
		}
	}
	return last
}

// Figures tells how much is in hand.
func (e *Executor) Figures() Figures {
	e.mu.Lock()
	defer e.mu.Unlock()
	f := Figures{Lines: e.queue.Lines(), AtWork: map[Work]int{}, Unstored: len(e.unstored),
		Runner: e.lastRunner()}
	prepared := e.prepared()
	f.Prepared = len(prepared)
	for _, en := range e.hand {
		if e.waits(en) || prepared[en.id] {
			continue
		}
		f.AtWork[Work{en.stack.Namespace, en.spec.Operation, en.spec.Purpose}]++
		if en.permitted {
			f.Applying++
		}
	}
	return f
}
