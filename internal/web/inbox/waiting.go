// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inbox

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/web/find"
	"github.com/yuba-dev/yuba/internal/web/site"
)

// waiting is what the icon, the title and notifications of a browser tell: how much waits, and the name
// of the newest of it. Notifications are seen by whoever looks at the screen, so there is nothing else.
type waiting struct {
	// Count counts plans and failures each, also where they are folded.
	Count  int    `json:"count"`
	Newest string `json:"newest,omitempty"`
	// At is when the newest began to wait, in seconds; 0 if nothing waits.
	At int64 `json:"at"`
}

// waitingOf counts what waits.
func waitingOf(w *world) waiting {
	var all waiting
	var newest time.Time
	add := func(name string, since time.Time) {
		all.Count++
		if all.Newest == "" || since.After(newest) {
			all.Newest, newest = name, since
		}
	}
	for _, entries := range [][]entry{held(w), outages(w)} {
		for i := range entries {
			add(entries[i].Title, entries[i].Since)
		}
	}
	for _, t := range w.stacks {
		switch need(t, w.seen) {
		case needsDecision, needsHands:
			add(title(t), plannedAt(t))
		case needsLook:
			add(title(t), find.Changed(t))
		}
	}
	if all.Count > 0 && !newest.IsZero() {
		all.At = newest.Unix()
	}
	return all
}

// waiting answers open pages of a browser, which ask now and then.
func (p *pages) waiting(w http.ResponseWriter, r *site.Request) error {
	world, err := p.gather(r)
	if err != nil {
		return err
	}
	all := waitingOf(world)
	all.Newest = diagnostic.Printable(all.Newest)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	return json.NewEncoder(w).Encode(all)
}
