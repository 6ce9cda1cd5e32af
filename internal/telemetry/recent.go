// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

const (
	// maxRecent is the number of remembered runs, a few hundred bytes each.
	maxRecent = 1024
	// minute is the number of seconds of the throughput.
	minute = 60
	// slowest is the number of listed stacks.
	slowest = 10
)

// Ended is a run that has ended.
type Ended struct {
	Stack     run.Stack
	ID        string
	Operation run.Operation
	Outcome   run.Outcome
	Finished  time.Time
	Took      time.Duration
}

// Recent summarises recent runs.
type Recent struct {
	// Total and Failed count all runs since the start of the server, LastMinute and
	// FailedLastMinute those of the last minute.
	Total, Failed, LastMinute, FailedLastMinute int
	// Skipped counts reconciliations of stacks that did not need a run.
	Skipped int
	// Slowest lists the stacks whose last runs took longest, one run each.
	Slowest []Ended
}

// recent remembers the last runs. The zero value is ready for use.
type recent struct {
	mu            sync.Mutex
	runs          []Ended
	next          int
	total, failed int
	skipped       int
	seconds       [minute]struct {
		at           int64
		runs, failed int
	}
}

func (r *recent) add(rec run.Record) {
	now := time.Now().Unix()
	e := Ended{Stack: rec.Spec.Stack, ID: rec.Spec.ID, Operation: rec.Spec.Operation, Outcome: rec.Result.Outcome, Finished: rec.Result.Finished}
	if rec.Started != nil {
		e.Took = max(rec.Result.Finished.Sub(*rec.Started)-rec.Result.Unplaced(), 0)
	}
	bad := 0
	if e.Outcome == run.OutcomeFailed || e.Outcome == run.OutcomeInterrupted {
		bad = 1
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.runs) < maxRecent {
		r.runs = append(r.runs, e)
	} else {
		r.runs[r.next] = e
	}
	r.next = (r.next + 1) % maxRecent
	r.total++
	r.failed += bad
	s := &r.seconds[now%minute]
	if s.at != now {
		s.at, s.runs, s.failed = now, 0, 0
	}
	s.runs++
	s.failed += bad
}

func (r *recent) skip() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.skipped++
}

// Recent summarises recent runs.
func (m *Metrics) Recent() Recent {
	r := &m.recent
	r.mu.Lock()
	defer r.mu.Unlock()
	list := Recent{Total: r.total, Failed: r.failed, Skipped: r.skipped}
	now := time.Now().Unix()
	for _, s := range r.seconds {
		if now-s.at < minute {
			list.LastMinute += s.runs
			list.FailedLastMinute += s.failed
		}
	}
	last := map[run.Stack]Ended{}
	for _, e := range r.runs {
		if was, ok := last[e.Stack]; !ok || e.Finished.After(was.Finished) {
			last[e.Stack] = e
		}
	}
	for _, e := range last {
		list.Slowest = append(list.Slowest, e)
	}
	slices.SortFunc(list.Slowest, func(a, b Ended) int {
		return cmp.Or(cmp.Compare(b.Took, a.Took), cmp.Compare(a.Stack.String(), b.Stack.String()))
	})
	list.Slowest = list.Slowest[:min(slowest, len(list.Slowest))]
	return list
}
