// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"net/http"
	"time"

	"github.com/yuba-dev/yuba/internal/registry/opentofu"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// PhasePrepared is the phase of a run that is prepared and starts when a place is free.
const PhasePrepared = "prepared"

// ServerInfo is the response of /server.
type ServerInfo struct {
	Version string `json:"version"`
	// Tool is the default program of runs and its version.
	Tool        string `json:"tool"`
	ToolVersion string `json:"toolVersion"`
	// RunnerImage is the image of runner Pods, which have their own tools and walls; empty where runs
	// execute beside the server.
	RunnerImage string `json:"runnerImage,omitempty"`
	// Confined is true if all walls of confinement are active. Walls lists the active ones,
	// MissingWalls for each other one the reason and its consequence.
	Confined     bool     `json:"confined"`
	Walls        string   `json:"walls,omitempty"`
	MissingWalls []string `json:"missingWalls,omitempty"`
	// Started is the server's start time, which distinguishes one start from another.
	Started time.Time `json:"started"`
	// Waiting and Running count runs.
	Waiting int `json:"waiting"`
	Running int `json:"running"`
	// Trouble says why the API refuses changes and what to do about it; else empty.
	Trouble string `json:"trouble,omitempty"`
	// Moves is true if the server's controllers respect the marks of "yuba move", those of tenants
	// included. Only the marks stop them: their kinds cannot be suspended.
	Moves bool `json:"moves,omitempty"`
	// MovesNames is true if those of subdomain pools, subdomain claims and failover records do, too. Earlier
	// servers with Moves did not know marks on these.
	MovesNames bool `json:"movesNames,omitempty"`
	// Tools are the programs that runs can use.
	Tools []run.InstalledTool `json:"tools,omitempty"`
}

// KeptTools is the response of /server?tools=kept: the versions of tofu and terraform in the
// registry's bucket.
type KeptTools struct {
	Items []opentofu.Version `json:"items"`
}

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
	// Urgency is the run's priority: awaited, change, review (a speculative plan) or drift.
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

// ProviderList is the response of /providerstore, by address and version.
type ProviderList struct {
	Items []run.StoredProvider `json:"items"`
}

func (h *Handler) backup(w http.ResponseWriter, r *http.Request) error {
	if h.Backup == nil {
		return notFound("this server does not have a data directory of its own to back up")
	}
	w.Header().Set("Content-Type", "application/x-tar")
	if err := h.Backup(r.Context(), w); err != nil {
		h.Log.Error("a backup failed", "error", err)
		panic(http.ErrAbortHandler) // the client must notice that it is incomplete
	}
	h.Log.Info("backup taken", "by", user(r))
	return nil
}

func (h *Handler) restore(w http.ResponseWriter, r *http.Request) error {
	if h.Restore == nil {
		return notFound("this server does not have a data directory of its own to restore")
	}
	if err := h.Restore(r.Context(), r.Body); err != nil {
		return badRequest(err.Error())
	}
	h.Log.Info("restore staged", "by", user(r))
	w.WriteHeader(http.StatusAccepted)
	return nil
}

func (h *Handler) server(w http.ResponseWriter, r *http.Request) error {
	if r.URL.Query().Get("tools") == "kept" {
		return h.keptTools(w, r)
	}
	return writeJSON(w, h.Server(r.Context()))
}

// keptTools is apart from what every client asks of a server: it lists the bucket.
func (h *Handler) keptTools(w http.ResponseWriter, r *http.Request) error {
	kept := KeptTools{Items: []opentofu.Version{}}
	if h.KeptTools != nil {
		list, err := h.KeptTools(r.Context())
		if err != nil {
			return err
		}
		kept.Items = append(kept.Items, list...)
	}
	return writeJSON(w, kept)
}

func (h *Handler) queue(w http.ResponseWriter, r *http.Request) error {
	return writeJSON(w, h.Queue(r.Context()))
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

func (h *Handler) providers(w http.ResponseWriter, r *http.Request) error {
	list, err := h.Providers(r.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, list)
}

// removeProvider removes packages from the provider stores and responds with what it removed.
func (h *Handler) removeProvider(w http.ResponseWriter, r *http.Request) error {
	if h.RemoveProvider == nil {
		return notFound("this server does not store providers")
	}
	q := r.URL.Query()
	source, version, scope := q.Get("source"), q.Get("version"), q.Get("scope")
	if source == "" || version == "" {
		return badRequest("remove a provider: name the provider (source) and its version (version)")
	}
	list, err := h.RemoveProvider(r.Context(), source, version, scope)
	if err != nil {
		return err
	}
	h.Log.Info("removed providers from the store", "by", user(r), "source", source, "version", version, "packages", len(list.Items))
	return writeJSON(w, list)
}
