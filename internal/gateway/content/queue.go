// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"context"
	"net/http"
	"time"
)

// PhasePrepared is the phase of a run that is prepared and starts when a place is free.
const PhasePrepared = "prepared"

// Queue is the response of /queue: first the executing runs, then the prepared ones, then the
// waiting ones in the order in which they would start.
type Queue struct {
	Items []QueueEntry `json:"items"`
}

// QueueEntry is one run that executes or waits.
type QueueEntry struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Run       string `json:"run"`
	Operation string `json:"operation"`
	Purpose   string `json:"purpose,omitempty"`
	// Place is 1 for the run that starts next, 0 for one that a runner has.
	Place int `json:"place"`
	// Phase is the phase of an executing run: prepared, starting, planning, applying, or by hand.
	Phase string `json:"phase,omitempty"`
	// Urgency is the run's priority: awaited, change or drift.
	Urgency string `json:"urgency"`
	// Trigger is what started the run, By who requested it.
	Trigger string `json:"trigger,omitempty"`
	By      string `json:"by,omitempty"`
	// Since is when the run was requested, Started when a runner started it.
	Since   time.Time  `json:"since"`
	Started *time.Time `json:"started,omitempty"`
	// Waits says what else, besides its turn, the run waits for.
	Waits string `json:"waits,omitempty"`
}

func (h *Handler) queue(w http.ResponseWriter, r *http.Request) error {
	return writeJSON(w, h.Queue(r.Context()))
}

// Queue returns all current runs, waiting ones in the order in which they start.
func (c *Client) Queue(ctx context.Context) (Queue, error) {
	var q Queue
	return q, c.readJSON(ctx, http.MethodGet, PathPrefix+"/queue", nil, &q)
}
