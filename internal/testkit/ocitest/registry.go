// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ocitest

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/yuba-dev/yuba/internal/testkit/faulttest"
)

// T is the part of testing.T that the package needs; benchmarks outside of tests have their own.
type T interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// Option configures a registry.
type Option func(*Registry)

// BasicAuth requires a name and a password.
func BasicAuth(username, password string) Option {
	return func(r *Registry) { r.username, r.password = username, password }
}

// TLS serves HTTPS with a certificate of the authority CA; the default is HTTP.
func TLS() Option {
	return func(r *Registry) { r.tls = true }
}

// Listen serves at an address of this machine instead of loopback, for clients in Pods.
func Listen(host string) Option {
	return func(r *Registry) { r.host = host }
}

// Counts are numbers of requests.
type Counts struct {
	// Lists counts requests for tags.
	Lists int
	// Manifests counts requests for manifests and their digests.
	Manifests int
	// Blobs counts downloads of layers and configurations.
	Blobs int
}

// Registry is an OCI registry. Faults do not affect Push and Tag.
type Registry struct {
	faulttest.Switch
	username, password, host string
	tls                      bool
	http                     *httptest.Server

	mu     sync.Mutex
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
	if r.host != "" {
		l, err := net.Listen("tcp", net.JoinHostPort(r.host, "0"))
		if err != nil {
			t.Fatalf("start the registry: %v", err)
		}
		r.http.Listener.Close() //nolint:errcheck // replaced
		r.http.Listener = l
	}
	if r.tls {
		r.http.StartTLS()
	} else {
		r.http.Start()
	}
	t.Cleanup(r.http.Close)
	return r
}

// Host returns the registry's address, without a scheme.
func (r *Registry) Host() string { return r.http.Listener.Addr().String() }

// URL returns the URL of a repository: oci://127.0.0.1:…/repository.
func (r *Registry) URL(repository string) string { return "oci://" + r.Host() + "/" + repository }

// CA returns the certificate authority of a registry with TLS, in PEM.
func (r *Registry) CA() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.http.Certificate().Raw})
}

// Counts returns the requests for a repository since the last Reset.
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
	if !mine && r.Answered(w, req) {
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
