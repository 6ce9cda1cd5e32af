// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
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

// Runner is what is known of the runner.
type Runner struct {
	// Seen is when it was last heard; zero for never. Asking is true while it waits for an answer.
	Seen   time.Time
	Asking bool
	// Version is its version, Usage what it said that it takes; nil when it does not tell.
	Version string
	Usage   *run.Usage
}

// heard is what polls tell of the runner.
type heard struct {
	seen    time.Time
	polls   int
	version string
	usage   *run.Usage
	// places is how many runs work at a time, ahead those that had no place yet.
	places int
	ahead  []string
}

// hear takes note that a runner asks; what it returns, that it has its answer.
func (e *Executor) hear(req run.PollRequest) func() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard.polls++
	e.heard.seen, e.heard.version = time.Now(), req.Version
	e.heard.places, e.heard.ahead = req.Places, req.Ahead
	if req.Usage != nil {
		e.heard.usage = req.Usage
	}
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.heard.polls--
		e.heard.seen = time.Now()
	}
}

// Figures tells how much is in hand.
func (e *Executor) Figures() Figures {
	e.mu.Lock()
	defer e.mu.Unlock()
	f := Figures{Lines: e.queue.Lines(), AtWork: map[Work]int{}, Unstored: len(e.unstored),
		Runner: Runner{Seen: e.heard.seen, Asking: e.heard.polls > 0, Version: e.heard.version, Usage: e.heard.usage}}
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
