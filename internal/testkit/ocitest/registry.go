// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ocitest

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/registry"
)

// T is what the package needs of a test; benchmarks, which are none, bring their own.
type T interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// Option changes how a registry is started.
type Option func(*Registry)

// BasicAuth lets only those in who say this name and password.
func BasicAuth(username, password string) Option {
	return func(r *Registry) { r.username, r.password = username, password }
}

// TLS serves HTTPS with a certificate that only CA vouches for; without it the registry is an insecure one.
func TLS() Option {
	return func(r *Registry) { r.tls = true }
}

// Counts is what clients asked a registry for.
type Counts struct {
	// Lists: how often somebody asked which tags there are.
	Lists int
	// Manifests: how often a manifest was asked for, whether all of it or only its digest.
	Manifests int
	// Blobs: how often a layer or a configuration was downloaded.
	Blobs int
}

// Fault answers a request in the registry's place; it returns false to let the registry answer. It stays until SetFault is
// called again.
type Fault func(w http.ResponseWriter, r *http.Request) bool

// Registry is an OCI registry.
type Registry struct {
	username, password string
	tls                bool
	http               *httptest.Server

	mu     sync.Mutex
	fault  Fault
	counts map[string]Counts
}

// ours marks the requests of Push and Tag.
const ours = "ocitest"

// New starts a registry that ends with the test.
func New(t T, options ...Option) *Registry {
	t.Helper()
	r := &Registry{counts: map[string]Counts{}}
	for _, option := range options {
		option(r)
	}
	quiet := slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	inner := registry.New(registry.Logger(quiet), registry.WithReferrersSupport(true))
	r.http = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { r.serve(w, req, inner) }))
	r.http.Config.ErrorLog = quiet
	if r.tls {
		r.http.StartTLS()
	} else {
		r.http.Start()
	}
	t.Cleanup(r.http.Close)
	return r
}

// Host is the registry's address, without a scheme.
func (r *Registry) Host() string { return r.http.Listener.Addr().String() }

// URL is a repository as an OCIRepository names it: oci://127.0.0.1:…/repository.
func (r *Registry) URL(repository string) string { return "oci://" + r.Host() + "/" + repository }

// CA is the certificate, in PEM, that vouches for a registry with TLS.
func (r *Registry) CA() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.http.Certificate().Raw})
}

// SetFault breaks the registry; nil repairs it. It does not reach Push and Tag.
func (r *Registry) SetFault(f Fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fault = f
}

// Unreachable is a registry that ends every connection without an answer.
func Unreachable(w http.ResponseWriter, _ *http.Request) bool {
	if hijacker, ok := w.(http.Hijacker); ok {
		if conn, _, err := hijacker.Hijack(); err == nil {
			conn.Close() //nolint:errcheck // ending it is the point
			return true
		}
	}
	panic(http.ErrAbortHandler)
}

// Answer is a registry that answers every request with this status.
func Answer(status int) Fault {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(status)
		return true
	}
}

// Counts tells what was asked about a repository since the last Reset.
func (r *Registry) Counts(repository string) Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts[repository]
}

// Reset sets all counts to zero.
func (r *Registry) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts = map[string]Counts{}
}

func (r *Registry) serve(w http.ResponseWriter, req *http.Request, inner http.Handler) {
	mine := strings.HasPrefix(req.UserAgent(), ours)
	r.mu.Lock()
	fault := r.fault
	r.mu.Unlock()
	if fault != nil && !mine && fault(w, req) {
		return
	}
	username, password, _ := req.BasicAuth()
	if (r.username != "" || r.password != "") && (username != r.username || password != r.password) {
		w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if !mine {
		r.count(req)
	}
	inner.ServeHTTP(w, req)
}

func (r *Registry) count(req *http.Request) {
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		return
	}
	path := strings.TrimPrefix(req.URL.Path, "/v2/")
	for what, change := range map[string]func(*Counts){
		"/tags/list":  func(c *Counts) { c.Lists++ },
		"/manifests/": func(c *Counts) { c.Manifests++ },
		"/blobs/":     func(c *Counts) { c.Blobs++ },
	} {
		repository, _, found := strings.Cut(path, what)
		if !found || what == "/blobs/" && req.Method == http.MethodHead {
			continue
		}
		r.mu.Lock()
		counts := r.counts[repository]
		change(&counts)
		r.counts[repository] = counts
		r.mu.Unlock()
	}
}

// transport trusts the registry.
func (r *Registry) transport() http.RoundTripper {
	transport := &http.Transport{}
	if r.tls {
		pool := x509.NewCertPool()
		pool.AddCert(r.http.Certificate())
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return transport
}
