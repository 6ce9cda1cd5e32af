// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"time"

	"github.com/yuba-dev/yuba/internal/runs/queue"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// Figures are numbers about the runs in hand. Their cost does not depend on the waiting runs.
type Figures struct {
	// Lines counts the runs that wait for a runner, by namespace and class.
	Lines []queue.Line
	// AtWork counts the executing runs, Applying those that may change something.
	AtWork   map[Work]int
	Applying int
	// Prepared counts runs that the runner prepares in addition: they have no place yet.
	Prepared int
	// Unstored counts drift checks that found nothing and are not stored yet.
	Unstored int
	Runner   Runner
}

// Work is the namespace, operation and purpose of runs.
type Work struct {
	Namespace string
	Operation run.Operation
	Purpose   run.Purpose
}

// Runner is the runner that polled last.
type Runner struct {
	// Seen is when it last polled; zero for never. Asking is true while it waits for an answer.
	Seen   time.Time
	Asking bool
	// Version is its version, Usage the resources that it reported; nil if it did not.
	Version string
	Usage   *run.Usage
}

// Figures counts the runs in hand.
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
