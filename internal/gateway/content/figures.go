// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"context"
	"net/http"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// Figures is the response of /figures: the current and recent load of a server.
type Figures struct {
	// At is when the figures were taken, Started when the server started, by the server's clock.
	At      time.Time `json:"at"`
	Started time.Time `json:"started"`
	Version string    `json:"version"`
	// Places is the maximum of concurrent runs, AtWork the number now. Prepared runs start as soon
	// as a place is free. Waiting runs wait for their turn.
	Places   int `json:"places"`
	AtWork   int `json:"atWork"`
	Prepared int `json:"prepared"`
	Waiting  int `json:"waiting"`
	// Ended and Failed count runs since the server started, LastMinute and FailedLastMinute those
	// of the last minute. Skipped counts reconciliations that did not need a run.
	Ended            int `json:"ended"`
	Failed           int `json:"failed"`
	LastMinute       int `json:"lastMinute"`
	FailedLastMinute int `json:"failedLastMinute"`
	Skipped          int `json:"skipped"`
	// Server is the resource usage of this server, Runner that of the runner; nil if unknown.
	Server run.Usage  `json:"server"`
	Runner *run.Usage `json:"runner,omitempty"`
	// RunnerSeen is the last sign of life of a runner, RunnerAlive whether one counts as alive.
	RunnerSeen  *time.Time `json:"runnerSeen,omitempty"`
	RunnerAlive bool       `json:"runnerAlive"`
	// Slowest lists the recently run stacks whose last run took longest.
	Slowest []EndedRun `json:"slowest,omitempty"`
}

// EndedRun is a run that has ended.
type EndedRun struct {
	Namespace string       `json:"namespace"`
	Name      string       `json:"name"`
	Run       string       `json:"run"`
	Operation string       `json:"operation"`
	Outcome   string       `json:"outcome"`
	Finished  time.Time    `json:"finished"`
	Took      run.Duration `json:"took"`
}

func (h *Handler) figures(w http.ResponseWriter, r *http.Request) error {
	return writeJSON(w, h.Figures(r.Context()))
}

// metrics serves metrics for Prometheus.
func (h *Handler) metrics(w http.ResponseWriter, r *http.Request) error {
	if h.Metrics == nil {
		return notFound("this server does not have metrics")
	}
	h.Metrics.ServeHTTP(w, r)
	return nil
}

// Figures returns the current and recent load of the server.
func (c *Client) Figures(ctx context.Context) (Figures, error) {
	var f Figures
	return f, c.readJSON(ctx, http.MethodGet, PathPrefix+"/figures", nil, &f)
}
