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

// wait queues a run for a runner. h.mu is held.
func (h *hand) wait(en *entry) {
	h.queue.Add(queue.Item{ID: en.id, Group: en.stack.Namespace, Place: en.place.Key(), Class: en.class, Since: en.since, Cost: h.costs[en.stack]})
}

// waits reports whether a run is queued. h.mu is held.
func (h *hand) waits(en *entry) bool {
	return h.runs[en.id] == en && !en.held && en.owner.Home == ""
}

// learn updates the expected duration of the stack's next run. h.mu is held.
func (h *hand) learn(rec run.Record) {
	if rec.Started == nil || rec.Result == nil || rec.Result.Outcome != run.OutcomeSucceeded || rec.Result.SameModules || rec.Spec.Operation.ByHand() {
		return
	}
	took := max(rec.Result.Finished.Sub(*rec.Started)-rec.Result.Unplaced(), 0)
	if before, ok := h.costs[rec.Spec.Stack]; ok {
		took = (3*before + took) / 4
	}
	h.costs[rec.Spec.Stack] = took
}

// left is how much longer a run that a runner has is expected to take. One that takes longer than
// the runs before it is expected to take as long again. h.mu is held.
func (h *hand) left(en *entry, now time.Time) time.Duration {
	var taken time.Duration
	if started := en.record().Started; started != nil {
		taken = now.Sub(*started)
	}
	if expected := cmp.Or(h.costs[en.stack], unknownCost); taken < expected {
		return expected - taken
	}
	return taken
}

// unknownCost is the expected duration of a stack's first run.
const unknownCost = time.Second

// Place is a run that waits for its turn.
type Place struct {
	Run   run.Record
	Class queue.Class
	// Full is true while its namespace has the maximum number of runs at work.
	Full bool
}

// Queue lists waiting runs in the order in which they would begin if no others were added.
func (h *hand) Queue() []Place {
	h.mu.Lock()
	defer h.mu.Unlock()
	var list []Place
	for _, p := range h.queue.Positions(time.Now()) {
		if en := h.runs[p.ID]; en != nil {
			list = append(list, Place{Run: en.record(), Class: p.Class, Full: p.Full})
		}
	}
	return list
}

// Underway is a run that a runner or a person has. Prepared: it waits for a place in the runner.
type Underway struct {
	Run      run.Record
	Prepared bool
}

// AtWork lists the executing runs by age, and then the prepared ones.
func (h *hand) AtWork() []Underway {
	h.mu.Lock()
	defer h.mu.Unlock()
	prepared := h.prepared()
	var list, waiting []Underway
	for _, en := range h.runs {
		switch {
		case h.waits(en):
		case prepared[en.id]:
			waiting = append(waiting, Underway{Run: en.record(), Prepared: true})
		default:
			list = append(list, Underway{Run: en.record()})
		}
	}
	byAge := func(a, b Underway) int { return cmp.Compare(a.Run.Spec.ID, b.Run.Spec.ID) }
	slices.SortFunc(list, byAge)
	slices.SortFunc(waiting, byAge)
	return append(list, waiting...)
}

// prepared returns the runs that runners prepare while others execute. h.mu is held.
func (h *hand) prepared() map[string]bool {
	ahead := map[string]bool{}
	for name, home := range h.homes.byName {
		if home.places > 0 && len(home.ahead) > 0 {
			h.addPrepared(ahead, name, home)
		}
	}
	return ahead
}

// addPrepared adds those of one home. If places have become free since its last poll, as many of
// its prepared runs count as executing.
func (h *hand) addPrepared(ahead map[string]bool, name string, home *home) {
	for _, id := range home.ahead {
		if en := h.runs[id]; en != nil && en.owner.Home == name && !en.permitted {
			ahead[id] = true
		}
	}
	free := home.places
	for _, en := range h.runs {
		if en.owner.Home == name && !en.held && !ahead[en.id] {
			free--
		}
	}
	for _, id := range home.ahead {
		if free > 0 && ahead[id] {
			delete(ahead, id)
			free--
		}
	}
}
