// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/listener"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// endpoint is the server's address for runners: TLS, on a free port of the loopback interface
// unless runs are Pods. Runners read the address from a file and trust only this server's certificate, so a program that
// takes the port after a crash learns nothing.
type endpoint struct {
	listener net.Listener
	server   *http.Server
}

// endpointHost is the name in the endpoint's certificate.
const endpointHost = "127.0.0.1"

func serveEndpoint(address string, h http.Handler, limits listener.Limits, cert certificate, log *slog.Logger) (*endpoint, error) {
	inner, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for runners on %s: %w", address, err)
	}
	connections := listener.New(inner, limits)
	config := &tls.Config{MinVersion: tls.VersionTLS13, GetCertificate: cert}
	e := &endpoint{listener: connections, server: listener.NewServer(listener.Knowing(connections, h), 0, config, log)}
	go serve("runners", log, func() error { return e.server.ServeTLS(connections, "", "") })
	return e, nil
}

func (e *endpoint) url() string { return "https://" + e.listener.Addr().String() }

// startRunner publishes the server's address for runners and keeps one running.
func (e *engine) startRunner(ctx context.Context, cert certificate, ca []byte) error {
	if e.pods != nil {
		return e.servePods(ctx, cert, ca)
	}
	var err error
	if err := e.chooseRunner(); err != nil {
		return err
	}
	if e.endpoint, err = serveEndpoint(net.JoinHostPort(endpointHost, "0"), e.executor.Handler(), e.opts.Connections.Share(20), cert, e.opts.Log); err != nil {
		return err
	}
	if err := e.local.WriteConnection(run.Connection{URL: e.endpoint.url(), CA: string(ca), Credential: e.executor.Credential()}); err != nil {
		return err
	}
	go e.executor.Run(ctx) //nolint:errcheck // it logs errors and continues
	return nil
}

// chooseRunner chooses the program and options that execute runs. It keeps an earlier server's
// runner if it is the same.
func (e *engine) chooseRunner() error {
	command := []string{e.tool.runner, "--dir", e.dir.Runner(), "--work", e.dir.Work(), "--provider-mirror", e.providerMirror(), "--tools", e.toolDir(),
		"--tofu", e.tool.path, "--sandbox", e.tool.sandbox, "--capacity", strconv.Itoa(e.concurrency())}
	command = append(command, e.providerStoreFlags()...)
	if e.opts.RequireConfinement {
		command = append(command, "--require-confinement")
	}
	return e.local.Use(e.opts.Version, command, runnerEnvironment())
}

// runnerEnvironment is the environment of the runner itself; tofu gets none of it.
func runnerEnvironment() []string {
	env := []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "GOMEMLIMIT=512MiB"}
	for _, name := range []string{"HOME", "TMPDIR", "GOCOVERDIR"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// drainTimeout is how long the server waits until the runner has got the order to drain. Without it
// the runner notices that the server has stopped.
const drainTimeout = 2 * time.Second

// drain stops handing out runs and orders the runner to drain: an idle runner exits at once, a busy
// one finishes its runs.
func (e *engine) drain() {
	select {
	case <-e.executor.Drain():
	case <-time.After(drainTimeout):
	}
}

// stopEndpoint lets requests in flight finish for a moment.
func (e *engine) stopEndpoint(ctx context.Context) error {
	if e.endpoint == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	err := e.endpoint.server.Shutdown(ctx)
	if err != nil {
		err = e.endpoint.server.Close()
	}
	e.executor.Flush(ctx)
	return err
}
