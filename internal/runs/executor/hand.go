// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/queue"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// hand has the runs in hand and the queue for runners, all in memory. A new server fills it from
// the records that statuses name, and from polls.
type hand struct {
	opts  *Options
	homes *homes

	mu     sync.Mutex
	runs   map[string]*entry
	stacks map[run.Stack]*entry
	queue  *queue.Queue
	// costs are recent durations of the stacks' runs.
	costs map[run.Stack]time.Duration
	// changed is closed and replaced at each change that pollers wait for.
	changed chan struct{}
}

func newHand(opts *Options, homes *homes) *hand {
	h := &hand{opts: opts, homes: homes, runs: map[string]*entry{}, stacks: map[run.Stack]*entry{},
		queue: queue.New(0, opts.NamespaceLimit), costs: map[run.Stack]time.Duration{}, changed: make(chan struct{})}
	h.queue.BoundReviews(opts.Reviews)
	return h
}

// busy returns a run.ErrBusy: the stack already has a run in hand.
func busy(en *entry) error {
	return fmt.Errorf("start a run of %s: %w (%s)", en.stack, run.ErrBusy, en.id)
}

// take adds a run, once. It returns run.ErrBusy if the stack has another run.
func (h *hand) take(rec run.Record, resumed bool) error {
	rec.Spec.Registry = h.opts.aboutRegistry(&rec.Spec) // of this server, also for runs of an earlier one
	en, err := newEntry(h.opts.LiveDir, rec, resumed)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if other := h.stacks[en.stack]; other != nil {
		if other.id == en.id {
			return nil
		}
		return busy(other)
	}
	h.runs[en.id], h.stacks[en.stack] = en, en
	switch {
	case en.held:
	case en.owner.Home != "":
		h.queue.Running(en.id, en.stack.Namespace, en.class)
		h.homes.of(en.owner.Home)
	default:
		h.wait(en)
	}
	if h.waitsFor(en) != "" {
		h.opts.Ended(en.stack)
	}
	h.announce()
	return nil
}

// drop removes a run.
func (h *hand) drop(en *entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.runs, en.id)
	h.queue.Remove(en.id)
	h.queue.Done(en.id)
	h.learn(en.record())
	if h.stacks[en.stack] == en {
		delete(h.stacks, en.stack)
	}
	h.announce()
}

// locked calls do while it holds the lock.
func (h *hand) locked(do func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	do()
}

// announce wakes the pollers that wait for a change. h.mu is held.
func (h *hand) announce() {
	h.opts.Busy(len(h.runs) > 0)
	close(h.changed)
	h.changed = make(chan struct{})
}

// of returns the stack's run, or nil.
func (h *hand) of(stack run.Stack) *entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stacks[stack]
}

// find returns the stack's run if it has this id, else nil.
func (h *hand) find(stack run.Stack, id string) *entry {
	if en := h.of(stack); en != nil && en.id == id {
		return en
	}
	return nil
}

// byID returns the run with this id, or nil if it is not in hand.
func (h *hand) byID(id string) *entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.runs[id]
}

// InHand returns the stack's run in hand, and whether it was canceled.
func (h *hand) InHand(stack run.Stack) (rec run.Record, canceled, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	en := h.stacks[stack]
	if en == nil {
		return run.Record{}, false, false
	}
	rec = en.record()
	rec.Waits = h.waitsFor(en)
	return rec, en.canceled, true
}

// Working reports whether a run is in hand: then its lock is in use.
func (h *hand) Working(id string) bool { return h.byID(id) != nil }

// Artifacts lists the digests of the source archives that the runs in hand use.
func (h *hand) Artifacts() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	digests := make([]string, 0, len(h.runs))
	for _, en := range h.runs {
		digests = append(digests, en.spec.Artifact.Digest)
	}
	return digests
}

// Busy counts the runs in hand, and those of them that wait for a runner.
func (h *hand) Busy() (inHand, waiting int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.runs), h.queue.Len()
}

// changes records that a run that plans and applies with one process begins to change something.
func (h *hand) changes(en *entry) {
	if !en.record().Planning {
		return
	}
	en.change(func(rec *run.Record) { rec.Planning = false })
	h.locked(h.announce)
	h.opts.Changing(en.record())
}

// waitsForTool records what the server does to get the tool of a run, for the stack's conditions.
func (h *hand) waitsForTool(en *entry, what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if en.tool != what {
		en.tool = what
		h.opts.Ended(en.stack)
	}
}

// namedStacks is the number of stacks that a message names.
const namedStacks = 3

// waitsFor says what a run waits for besides its turn; empty if nothing. h.mu is held.
func (h *hand) waitsFor(en *entry) string {
	if en.hindered != "" {
		return run.WaitsForState + en.hindered
	}
	if en.tool != "" {
		return run.WaitsForTool + en.tool
	}
	if !h.waits(en) {
		if why := h.opts.Backend.Misses(en.owner.Home); why != "" {
			return run.WaitsForReport + why
		}
		return ""
	}
	if why := h.opts.Backend.Hinders(en.place.Key()); why != "" {
		return run.WaitsForPod + why
	}
	names := h.homes.leaving()
	if len(names) == 0 {
		return ""
	}
	text := run.WaitsForRunner + strings.Join(names[:min(len(names), namedStacks)], ", ")
	if more := len(names) - namedStacks; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
