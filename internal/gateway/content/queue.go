// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"context"
	"net/http"
	"time"
)

// PhasePrepared is the phase of a run that is prepared beside those at work, and begins when a place is free.
const PhasePrepared = "prepared"

// Queue is the answer of /queue: every run in hand, those that are carried out first, then those that are prepared, then
// those that wait in the order in which they would begin if nothing else came.
type Queue struct {
	Items []QueueEntry `json:"items"`
}

// QueueEntry is a run in hand.
type QueueEntry struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Run       string `json:"run"`
	Operation string `json:"operation"`
	Purpose   string `json:"purpose,omitempty"`
	// Place is 1 for the run that begins next, 0 for one that a runner has.
	Place int `json:"place"`
	// Phase is how far one has come that is carried out: prepared, starting, planning, applying, or by hand.
	Phase string `json:"phase,omitempty"`
	// Urgency says who waits for it: awaited, change or drift.
	Urgency string `json:"urgency"`
	// Trigger says what started the run, By who asked for it.
	Trigger string `json:"trigger,omitempty"`
	By      string `json:"by,omitempty"`
	// Since is when it was asked for, Started when a runner began it.
	Since   time.Time  `json:"since"`
	Started *time.Time `json:"started,omitempty"`
	// Waits says what it waits for beside its turn.
	Waits string `json:"waits,omitempty"`
}

func (h *Handler) queue(w http.ResponseWriter, r *http.Request) error {
	return writeJSON(w, h.Queue(r.Context()))
}

// Queue says which runs are in hand, and in which order those that wait begin.
func (c *Client) Queue(ctx context.Context) (Queue, error) {
	var q Queue
	return q, c.readJSON(ctx, http.MethodGet, PathPrefix+"/queue", nil, &q)
}
