// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"time"

	"github.com/yuba-dev/yuba/internal/runs/queue"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// Figures are numbers about the runs in hand, at a cost independent of the waiting runs.
type Figures struct {
	// Lines are the runs that wait for a runner.
	Lines []queue.Line
	// AtWork counts the executing runs, Applying those of them that may change something.
	AtWork   map[Work]int
	Applying int
	// Prepared are runs that the runner prepares beside those: they have no place yet.
	Prepared int
	// Unstored are passes that found nothing and are not on record yet.
	Unstored int
	Runner   Runner
}

// Work says what runs do and for which namespace.
type Work struct {
	Namespace string
	Operation run.Operation
	Purpose   run.Purpose
}

// Runner is the runner that was heard last.
type Runner struct {
	// Seen is when it was last heard; zero for never. Asking is true while it waits for an answer.
	Seen   time.Time
	Asking bool
	// Version is its version, Usage what it said that it takes; nil when it did not say.
	Version string
	Usage   *run.Usage
}

// Figures counts what is in hand.
func (e *Executor) Figures() Figures {
	e.hand.mu.Lock()
	defer e.hand.mu.Unlock()
	f := Figures{Lines: e.queue.Lines(), AtWork: map[Work]int{}, Unstored: e.countUnstored(), Runner: e.hand.homes.last()}
	prepared := e.prepared()
	f.Prepared = len(prepared)
	for _, en := range e.runs {
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
