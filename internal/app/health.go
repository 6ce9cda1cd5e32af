// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"
)

// health answers the probes of controllers: /livez while the process works, /readyz when it leads or
// stands by for another replica.
type health struct {
	server *http.Server
	// state is why the process is not ready; empty if it is.
	state atomic.Value
	// synced waits for the caches of a leader; nil before.
	synced atomic.Pointer[func(context.Context) bool]
}

// serveHealth serves probes at an address. It works without one, too.
func serveHealth(address string, log *slog.Logger) (*health, error) {
	h := &health{}
	h.state.Store("starting")
	if address == "" {
		return h, nil
	}
	l, err := listen("--health-address", address)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if why := h.unready(r.Context()); why != "" {
			http.Error(w, why, http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	h.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, MaxHeaderBytes: 16 << 10}
	go serve("health", log, func() error { return h.server.Serve(l) })
	return h, nil
}

func (h *health) stop() {
	if h.server != nil {
		h.server.Close() //nolint:errcheck // the process ends
	}
}

// standsBy notes that another replica leads.
func (h *health) standsBy() { h.state.Store("") }

// takesOver notes that this process will lead, and does not listen yet.
func (h *health) takesOver() { h.state.Store("taking over") }

// leads notes that this process leads, and is ready when synced returns true.
func (h *health) leads(synced func(context.Context) bool) {
	h.synced.Store(&synced)
	h.state.Store("")
}

// syncPatience is how long a probe waits for the caches.
const syncPatience = 500 * time.Millisecond

// unready says why the process is not ready.
func (h *health) unready(ctx context.Context) string {
	if why, _ := h.state.Load().(string); why != "" {
		return why
	}
	if synced := h.synced.Load(); synced != nil {
		ctx, cancel := context.WithTimeout(ctx, syncPatience)
		defer cancel()
		if !(*synced)(ctx) {
			return "reading the objects"
		}
	}
	return ""
}
