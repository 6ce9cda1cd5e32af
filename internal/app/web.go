// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/yuba-dev/yuba/internal/gitops/notify/receive"
	"github.com/yuba-dev/yuba/internal/kit/listener"
)

// answerTime limits a request for pages and webhooks. A webhook waits for its turn, its body and
// its expressions.
const answerTime = 2 * time.Minute

// landingPage is for browsers.
const landingPage = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Yuba</title>
<h1>Yuba</h1>
<p>Yuba is running. This address serves webhooks and health probes (<a href="/readyz">/readyz</a>, <a href="/livez">/livez</a>); stacks
are operated from the command line:</p>
<pre>
yuba list -A                     all stacks and their status
yuba deploy DIR --name NAME      make a stack of a directory
yuba status NAME                 what a stack says, and what to do next
yuba plan NAME                   the plan that waits for approval
yuba approve NAME                apply it
yuba top                         what happens now
yuba help                        everything else
</pre>
</html>
`

// listen listens on the address that a flag names.
func listen(flag, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("cannot listen on %s: address already in use. Another Yuba or program uses it: choose another with %s", address, flag)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	return l, nil
}

// serve serves until the server is closed, and logs why it cannot.
func serve(what string, log *slog.Logger, until func() error) {
	if err := until(); err != nil && !errors.Is(err, http.ErrServerClosed) {
		log.Error("serving "+what+" failed", "error", err)
	}
}

// serveWeb serves browsers, probes and webhooks: /livez responds if the process does, /readyz says
// whether it works or why not, and receivers are below /hook/.
func serveWeb(address string, limits listener.Limits, unready func() string, hooks http.Handler, log *slog.Logger) (*http.Server, net.Listener, error) {
	inner, err := listen("--http-address", address)
	if err != nil {
		return nil, nil, err
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
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, landingPage)
	})
	mux.Handle(receive.HookPath, hooks)
	connections := listener.New(inner, limits)
	server := listener.NewServer(mux, listener.ShortBody, nil, log)
	server.WriteTimeout = answerTime
	go serve("HTTP", log, func() error { return server.Serve(connections) })
	return server, connections, nil
}
