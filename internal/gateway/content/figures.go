// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"context"
	"net/http"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// Figures is the answer of /figures: how much a server does now, and did lately.
type Figures struct {
	// At is when they were taken, Started when the server was; both by the server's clock.
	At      time.Time `json:"at"`
	Started time.Time `json:"started"`
	Version string    `json:"version"`
	// Places is how many runs may be carried out at a time, AtWork how many are; Prepared are beside them and begin as soon as a
	// place is free, Waiting wait for their turn.
	Places   int `json:"places"`
	AtWork   int `json:"atWork"`
	Prepared int `json:"prepared"`
	Waiting  int `json:"waiting"`
	// Ended and Failed count runs since the server was started, LastMinute and FailedLastMinute those of the last minute,
	// Skipped the passes that were proven to need none.
	Ended            int `json:"ended"`
	Failed           int `json:"failed"`
	LastMinute       int `json:"lastMinute"`
	FailedLastMinute int `json:"failedLastMinute"`
	Skipped          int `json:"skipped"`
	// Server is what this server takes, Runner what the runner does; nil when there is none that tells.
	Server run.Usage  `json:"server"`
	Runner *run.Usage `json:"runner,omitempty"`
	// RunnerSeen is when a runner was last heard, RunnerAlive whether one counts as alive.
	RunnerSeen  *time.Time `json:"runnerSeen,omitempty"`
	RunnerAlive bool       `json:"runnerAlive"`
	// Slowest are the stacks whose last run took longest, of those that ran lately.
	Slowest []EndedRun `json:"slowest,omitempty"`
}

// EndedRun is a run that ended.
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

// metrics serves numbers for Prometheus.
func (h *Handler) metrics(w http.ResponseWriter, r *http.Request) error {
	if h.Metrics == nil {
		return notFound("this server has no metrics")
	}
	h.Metrics.ServeHTTP(w, r)
	return nil
}

// Figures says how much the server does now, and did lately.
func (c *Client) Figures(ctx context.Context) (Figures, error) {
	var f Figures
	return f, c.readJSON(ctx, http.MethodGet, PathPrefix+"/figures", nil, &f)
}
