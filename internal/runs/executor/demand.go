// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/backend"
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
	w := backend.Wanted{Working: map[string]int{}}
	for _, p := range h.queue.Positions(time.Now()) {
		if en := h.runs[p.ID]; en != nil && !p.Full {
			w.Waiting = append(w.Waiting, backend.Want{Place: en.place, Cost: p.Cost})
		}
	}
	for _, en := range h.runs {
		if en.owner.Home != "" && !en.held {
			w.Working[en.owner.Home]++
		}
	}
	return w, h.changed
}

// Ended implements backend.Demand.
func (m demand) Ended(home, why string) { m.d.runnerEnded(m.ctx, home, why) }

// Hindered implements backend.Demand: the conditions of waiting stacks say what hinders their runs.
func (m demand) Hindered(place string) {
	var waiting []run.Stack
	m.d.hand.locked(func() {
		for _, en := range m.d.hand.runs {
			if m.d.hand.waits(en) && en.place.Key() == place {
				waiting = append(waiting, en.stack)
			}
		}
	})
	for _, s := range waiting {
		m.d.opts.Ended(s)
	}
}
