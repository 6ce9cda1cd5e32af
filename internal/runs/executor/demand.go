// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/backend"
	"github.com/yuba-dev/yuba/internal/runs/queue"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// demand is the backend's view of the runs in hand.
type demand struct {
	d   *dispatch
	ctx context.Context //nolint:containedctx // of Backend.Run, which has the demand for as long
}

// Wanted implements backend.Demand.
func (m demand) Wanted() (backend.Wanted, <-chan struct{}) {
	h := m.d.hand
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	w := backend.Wanted{Homes: map[string]backend.Home{}}
	for name, known := range m.d.homes.byName {
		heard := known.seen
		if known.polls > 0 {
			heard = now
		}
		w.Homes[name] = backend.Home{Heard: heard}
	}
	for _, p := range h.queue.Positions(now) {
		if en := h.runs[p.ID]; en != nil && !p.Full {
			w.Waiting = append(w.Waiting, backend.Want{Place: en.place, Cost: p.Cost, Awaited: p.Class == queue.Urgent})
		}
	}
	for _, en := range h.runs {
		if en.owner.Home != "" && !en.held {
			home := w.Homes[en.owner.Home]
			home.Runs++
			home.Left = max(home.Left, h.left(en, now))
			w.Homes[en.owner.Home] = home
		}
	}
	return w, h.changed
}

// Ended implements backend.Demand.
func (m demand) Ended(home, why string) { m.d.runnerEnded(m.ctx, home, why) }

// Hindered implements backend.Demand: the conditions of waiting stacks say what hinders their runs.
func (m demand) Hindered(place string) {
	m.tell(func(en *entry) bool { return m.d.hand.waits(en) && en.place.Key() == place })
}

// Missed implements backend.Demand: runs that the home's runner has not begun go to others, and the
// conditions of the other ones say that nobody reports.
func (m demand) Missed(home string) {
	if m.d.opts.Backend.Misses(home) != "" {
		m.d.takeBack(m.ctx, home)
	}
	m.tell(func(en *entry) bool { return en.owner.Home == home })
}

// tell has the conditions of stacks say what their runs wait for now.
func (m demand) tell(concerns func(*entry) bool) {
	var stacks []run.Stack
	m.d.hand.locked(func() {
		for _, en := range m.d.hand.runs {
			if concerns(en) {
				stacks = append(stacks, en.stack)
			}
		}
	})
	for _, s := range stacks {
		m.d.opts.Ended(s)
	}
}
