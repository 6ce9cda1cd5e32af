// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registryproxy

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// The paths of the registry's protocols.
const (
	Modules   = "/v1/modules/"
	Providers = "/v1/providers/"
	upstream  = "/v1/upstream/"
)

// Upstream is the path of the providers of another registry.
func Upstream(host string) string { return upstream + host + "/" }

// IsUpstream reports whether a path is below those of other registries.
func IsUpstream(path string) bool { return strings.HasPrefix(path, upstream) }

// files are the paths that answers may lead to, besides those that a download was given.
var files = []string{"/v1/files/"}

// Limits of a proxy. A download makes few requests at a time.
const (
	maxConnections = 64
	maxHeader      = 64 << 10
	headerTime     = 30 * time.Second
	idleTime       = 2 * time.Minute
)

// Open asks the registry of the server once. The path begins with /v1/. Its errors can be repeated,
// unless they are [FinalError]s.
type Open func(ctx context.Context, method, path string, header http.Header) (*http.Response, error)

// FinalError is an error that repeating does not change.
type FinalError struct{ Err error }

func (e *FinalError) Error() string { return e.Err.Error() }

// Unwrap returns the error.
func (e *FinalError) Unwrap() error { return e.Err }

// Proxy forwards the requests of one download.
type Proxy struct {
	open     Open
	paths    []string
	secret   string
	listener net.Listener
	server   *http.Server
	// patience is how long a request may go without an answer, or an answer without a byte.
	patience time.Duration

	mu       sync.Mutex
	problems []string
}

// patience covers a restart of the server.
const patience = 3 * time.Minute

// Start starts a proxy for requests below the paths, such as [Modules].
func Start(open Open, paths ...string) (*Proxy, error) {
	inner, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the requests of a download: %w", err)
	}
	p := &Proxy{open: open, paths: slices.Concat(paths, files), secret: "/" + rand.Text(), listener: &limited{Listener: inner, free: make(chan struct{}, maxConnections)}, patience: patience}
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)} // clients that hang up are of no interest
	go p.server.Serve(p.listener) //nolint:errcheck // it ends with Close
	return p, nil
}

// Address is the proxy's host:port.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// URL is where the download finds a path of the registry.
func (p *Proxy) URL(path string) string { return "http://" + p.Address() + p.secret + path }

// Close ends the proxy with all its requests.
func (p *Proxy) Close() { _ = p.server.Close() }

// maxProblems limits those that a proxy remembers.
const maxProblems = 5

// Problems are what the registry refused, in words for people. The tools show statuses only.
func (p *Proxy) Problems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.problems)
}

func (p *Proxy) note(problem string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.problems) < maxProblems && !slices.Contains(p.problems, problem) {
		p.problems = append(p.problems, problem)
	}
}

// errElsewhere refuses what is not below the download's paths.
var errElsewhere = errors.New("the download may not ask the registry for this")

// within returns the path of the registry that a request means.
func (p *Proxy) within(r *http.Request) (string, error) {
	name, ours := strings.CutPrefix(r.URL.EscapedPath(), p.secret)
	if !ours {
		return "", errElsewhere
	}
	return name, p.allows(name)
}

// allows refuses paths outside of the download's.
func (p *Proxy) allows(name string) error {
	lower := strings.ToLower(name)
	if path.Clean(name) != strings.TrimSuffix(name, "/") || strings.Contains(lower, "%2f") || strings.Contains(lower, "%2e") || strings.Contains(name, `\`) {
		return errElsewhere
	}
	if !slices.ContainsFunc(p.paths, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
		return errElsewhere
	}
	return nil
}

// ServeHTTP forwards a request.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, err := p.within(r)
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "the proxy only reads", http.StatusMethodNotAllowed)
		return
	}
	if r.URL.RawQuery != "" {
		name += "?" + r.URL.RawQuery
	}
	t := &transfer{proxy: p, method: r.Method, path: name, header: http.Header{}}
	for _, h := range requestHeaders {
		if value := r.Header.Get(h); value != "" {
			t.header.Set(h, value)
		}
	}
	t.serve(r.Context(), w)
}

// limited is a listener with a limit of connections.
type limited struct {
	net.Listener
	free chan struct{}
}

// Accept waits for a place first.
func (l *limited) Accept() (net.Conn, error) {
	l.free <- struct{}{}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.free
		return nil, err
	}
	return &counted{Conn: conn, release: sync.OnceFunc(func() { <-l.free })}, nil
}

// counted gives its place back once.
type counted struct {
	net.Conn
	release func()
}

// Close closes the connection.
func (c *counted) Close() error {
	defer c.release()
	return c.Conn.Close()
}
