// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"cmp"
	"slices"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/queue"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// wait queues a run for a runner. The executor's lock is held.
func (e *Executor) wait(en *entry) {
	e.queue.Add(queue.Item{ID: en.id, Group: en.stack.Namespace, Class: en.class, Since: en.since, Cost: e.costs[en.stack]})
}

// waits tells whether a run is queued. The executor's lock is held.
func (e *Executor) waits(en *entry) bool {
	return e.hand[en.id] == en && !en.held && en.owner.Home == ""
}

// isRunning counts a run that a runner has. The executor's lock is held.
func (e *Executor) isRunning(en *entry) { e.queue.Running(en.id, en.stack.Namespace) }

// next takes the run out of the queue that begins next, nil when none may. The executor's lock is held.
func (e *Executor) next() *entry {
	it, ok := e.queue.Next(time.Now())
	if !ok {
		return nil
	}
	return e.hand[it.ID]
}

// classOf says who waits for a run.
func classOf(rec run.Record) queue.Class {
	switch rec.Urgency {
	case run.UrgencyAwaited:
		return queue.Urgent
	case run.UrgencyDrift:
		return queue.Drift
	}
	return queue.Changed
}

// learn takes what a run took into account for what the stack's next one is expected to take. The executor's lock is
// held.
func (e *Executor) learn(rec run.Record) {
	if rec.Started == nil || rec.Result == nil || rec.Result.Outcome != run.OutcomeSucceeded || rec.Result.SameModules || rec.Spec.Operation.ByHand() {
		return
	}
	took := max(rec.Result.Finished.Sub(*rec.Started)-rec.Result.Unplaced(), 0)
	if before, ok := e.costs[rec.Spec.Stack]; ok {
		took = (3*before + took) / 4
	}
	e.costs[rec.Spec.Stack] = took
}

// Place is a run that waits for its turn.
type Place struct {
	Run   run.Record
	Class queue.Class
	// Full is true while its namespace has as many runs as it may.
	Full bool
}

// Queue lists the runs that wait for a runner, in the order in which they would begin if nothing else came.
func (e *Executor) Queue() []Place {
	e.mu.Lock()
	places := e.queue.Places(time.Now())
	entries := make([]*entry, 0, len(places))
	for _, p := range places {
		entries = append(entries, e.hand[p.ID])
	}
	e.mu.Unlock()
	list := make([]Place, 0, len(places))
	for i, p := range places {
		if entries[i] != nil {
			list = append(list, Place{Run: entries[i].record(), Class: p.Class, Full: p.Full})
		}
	}
	return list
}

// Underway is a run that a runner has, or a person. Prepared says that it has no place with the runner yet.
type Underway struct {
	Run      run.Record
	Prepared bool
}

// AtWork lists the runs that are carried out, in the order in which they were made, and then those that are prepared.
func (e *Executor) AtWork() []Underway {
	e.mu.Lock()
	prepared := e.prepared()
	var entries []*entry
	for _, en := range e.hand {
		if !e.waits(en) {
			entries = append(entries, en)
		}
	}
	e.mu.Unlock()
	list := make([]Underway, 0, len(entries))
	for _, en := range entries {
		list = append(list, Underway{Run: en.record(), Prepared: prepared[en.id]})
	}
	slices.SortFunc(list, func(a, b Underway) int {
		if a.Prepared != b.Prepared {
			if a.Prepared {
				return 1
			}
			return -1
		}
		return cmp.Compare(a.Run.Spec.ID, b.Run.Spec.ID)
	})
	return list
}

// prepared are the runs that runners prepare beside those at work. The executor's lock is held.
func (e *Executor) prepared() map[string]bool {
	ahead := map[string]bool{}
	for name, h := range e.homes {
		if h.places > 0 && len(h.ahead) > 0 {
			e.addPrepared(ahead, name, h)
		}
	}
	return ahead
}

// addPrepared adds those of one home. Its runner tells of them with its polls, the last of which may be some seconds old:
// of those that it named, as many count as at work as places have become free since.
func (e *Executor) addPrepared(ahead map[string]bool, name string, h *home) {
	for _, id := range h.ahead {
		if en := e.hand[id]; en != nil && en.owner.Home == name && !en.permitted {
			ahead[id] = true
		}
	}
	free := h.places
	for _, en := range e.hand {
		if en.owner.Home == name && !en.held && !ahead[en.id] {
			free--
		}
	}
	for _, id := range h.ahead {
		if free > 0 && ahead[id] {
			delete(ahead, id)
			free--
		}
	}
}
