// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/yuba-dev/yuba/internal/registry/catalog"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/offer"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// Modules are the modules of the registry: [catalog.Catalog], whose errors they have.
type Modules interface {
	Modules(ctx context.Context) []layout.Module
	Versions(ctx context.Context, m layout.Module) ([]catalog.Release, error)
	Release(ctx context.Context, v layout.ModuleVersion) (catalog.Release, error)
	Describe(ctx context.Context, v layout.ModuleVersion) (catalog.Release, error)
	Archive(ctx context.Context, v layout.ModuleVersion) (io.ReadCloser, catalog.Release, error)
	Publish(ctx context.Context, v layout.ModuleVersion, archive io.Reader, opts catalog.PublishOptions) (catalog.Release, catalog.Changes, error)
	Mark(ctx context.Context, v layout.ModuleVersion, notice *catalog.Notice) (catalog.Release, error)
}

// Providers are providers: the registry's own, whose Host is empty, or those of the mirror. Errors
// wrap the errors of package offer.
type Providers interface {
	// Versions returns all versions of a provider, newest first.
	Versions(ctx context.Context, p layout.Provider) ([]offer.Version, error)
	// Release returns a version with the packages of all its platforms.
	Release(ctx context.Context, v layout.ProviderVersion) (offer.Release, error)
	// Open returns a file of a version: an archive, the list of checksums or its signature.
	Open(ctx context.Context, v layout.ProviderVersion, file string) (offer.File, error)
}

// Served is a request that was answered, for metrics.
type Served struct {
	// Kind is the route: discovery, module-versions, module-download, module-archive,
	// provider-versions, provider-download, provider-file, mirror-index, mirror-version, mirror-file,
	// tool-file, tool-index, tool-wanted, login, manage or other.
	Kind   string
	Status int
	// Subject is the module, or provider, whose archive was sent; else empty.
	Subject string
	Took    time.Duration
}

// Options configure a server.
type Options struct {
	Modules   Modules
	Providers Providers // nil for none
	Mirror    Providers // nil for none
	Tools     Tools     // nil for none
	Contracts Contracts // nil for none
	Access    Access
	// Anonymous allows requests without a token to read modules and the registry's own providers.
	// AnonymousMirror allows them to read the mirror, too, which downloads what it does not have.
	Anonymous, AnonymousMirror bool
	// Key signs paths. Servers of one registry share it.
	Key []byte
	// Unavailable is why the bucket cannot be used yet; nil if it can. See [Server.Unavailable].
	Unavailable error
	// Host is the registry's public host, with its port unless that is 443.
	Host string
	// CA is the authority of the registry's certificate, in PEM; nil for one that is trusted anyway.
	CA []byte
	// Login is nil if "tofu login" is not offered.
	Login *Login
	// Management serves what other packages add to the management API, by resource; they authorise
	// nothing.
	Management map[string]http.Handler
	// Observe is called after each answer; nil for nobody.
	Observe func(Served)
	Log     *slog.Logger
	// Now is the clock; nil for the system's.
	Now func() time.Time
}

// Server serves the protocols. It is safe for concurrent use.
type Server struct {
	opts   Options
	signer signer
	// closed is why the bucket cannot be used yet; nil inside if it can.
	closed atomic.Pointer[error]
}

// New returns a server.
func New(opts Options) *Server {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Observe == nil {
		opts.Observe = func(Served) {}
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{opts: opts, signer: signer{key: opts.Key, now: opts.Now}}
	if opts.Unavailable != nil {
		s.Unavailable(opts.Unavailable)
	}
	return s
}

// Host is the host to write in sources.
func (s *Server) Host() string { return s.opts.Host }

// Handler serves everyone: requests are authenticated by their bearer token.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	s.protocols(mux, client{by: s.byToken, signer: s.signer})
	s.manageByToken(mux)
	if s.opts.Login != nil {
		s.login(mux)
	}
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok\n") }) //nolint:errcheck // the client is gone
	mux.HandleFunc("/", s.observed("other", func(http.ResponseWriter, *http.Request) (string, error) {
		return "", problem(http.StatusNotFound, "the registry does not have this address")
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del(run.HeaderRevoked) // for runs only, whose server knows what they do
		mux.ServeHTTP(w, r)
	})
}

// ServeAs serves all requests as one identity, and ignores their tokens. It is for callers that
// have authenticated the client. All links in answers are relative, so the handler can be mounted
// below any prefix that the caller strips. It serves neither login nor the management API.
func (s *Server) ServeAs(who Identity) http.Handler {
	mux := http.NewServeMux()
	s.protocols(mux, s.as(who))
	return mux
}

// as is a client that is always the same.
func (s *Server) as(who Identity) client {
	held := s.signer
	held.holder = who.Name
	return client{by: func(*http.Request) (Identity, error) { return who, nil }, signer: held}
}

// identify finds who sends a request.
type identify func(r *http.Request) (Identity, error)

// client is how requests are authenticated, and how files are opened to them.
type client struct {
	by identify
	signer
	// run is the run that asks; nil for other clients.
	run *RunRequest
}

// protocols adds the routes of the protocols.
func (s *Server) protocols(mux *http.ServeMux, c client) {
	by := c.by
	const module, provider = "/v1/modules/{namespace}/{name}/{system}", "/{namespace}/{name}"
	own, upstream := source{resource: ResourceProviders, from: s.opts.Providers}, source{resource: ResourceMirror, from: s.opts.Mirror}
	get := func(pattern, kind string, answer answer) {
		mux.HandleFunc("GET "+pattern, s.observed(kind, s.opened(by, answer)))
	}
	mux.HandleFunc("GET /.well-known/terraform.json", s.observed("discovery", s.discovery)) // needs no bucket
	get(module+"/versions", "module-versions", s.moduleVersions(c))
	get(module+"/{version}/download", "module-download", s.moduleDownload(c))
	get(module+"/{version}/archive/{signature}/{file}", "module-archive", s.moduleArchive(c.signer))
	if s.opts.Contracts != nil {
		s.contracts(get, c)
	}
	for prefix, from := range map[string]source{"/v1/providers": own, "/v1/upstream/{host}": upstream} {
		get(prefix+provider+"/versions", "provider-versions", s.providerVersions(from, by))
		get(prefix+provider+"/{version}/download/{os}/{arch}", "provider-download", s.providerDownload(from, c))
		get(prefix+provider+"/{version}/files/{signature}/{file}", "provider-file", s.signedFile(from, c.signer))
	}
	if s.opts.Tools != nil {
		get("/v1/tools/{tool}/{index}", "tool-index", s.toolIndex)
		get("/v1/tools/{tool}/{version}/{file}", "tool-file", s.toolFile(by))
	}
	get("/v1/mirror/{host}"+provider+"/index.json", "mirror-index", s.mirrorIndex(by))
	get("/v1/mirror/{host}"+provider+"/{file}", "mirror-version", s.mirrorVersion(c))
	get("/v1/mirror/{host}"+provider+"/{version}/files/{signature}/{file}", "mirror-file", s.signedFile(source{ResourceMirror, mirrored{own.from, upstream.from, s.opts.Host}}, c.signer))
}

// answer serves a request, and returns the subject whose archive it sent.
type answer func(w http.ResponseWriter, r *http.Request) (subject string, err error)

// observed turns the error of an answer into a response, and observes both.
func (s *Server) observed(kind string, serve answer) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		began := s.opts.Now()
		status := &recorder{ResponseWriter: w}
		subject, err := serve(status, r.WithContext(offer.Through(r.Context(), r.Header)))
		if err != nil {
			s.fail(status, r, err)
		}
		if r.Method == http.MethodHead {
			subject = ""
		}
		s.opts.Observe(Served{Kind: kind, Status: status.code(), Subject: subject, Took: s.opts.Now().Sub(began)})
	}
}

// recorder remembers the status of an answer.
type recorder struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// ReadFrom lets the kernel send files.
func (r *recorder) ReadFrom(from io.Reader) (int64, error) {
	return io.Copy(r.ResponseWriter, from)
}

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *recorder) code() int {
	if r.status == 0 {
		return http.StatusOK
	}
	return r.status
}
