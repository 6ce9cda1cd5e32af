// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/yuba-dev/yuba/internal/notify/receive"
)

// serveWeb serves people, probes and webhooks: /livez says that the process answers, /readyz that it works or what is in
// the way, and below /hook/ are the paths of receivers.
func serveWeb(address string, unready func() string, hooks http.Handler, log *slog.Logger) (*http.Server, net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, nil, fmt.Errorf("cannot listen on %s: address already in use. Another Yuba or program uses it: choose another with --http-address", address)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if why := unready(); why != "" {
			http.Error(w, why, http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.Handle(receive.HookPath, hooks)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	go func() {
		if err := server.Serve(listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
			log.Error("serving HTTP", "error", err)
		}
	}()
	return server, listener, nil
}
