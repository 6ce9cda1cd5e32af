// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/yuba-dev/yuba/internal/registry/catalog"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/offer"
)

// Modules are the modules of the registry: [catalog.Catalog], whose errors they have.
type Modules interface {
	Modules(ctx context.Context) []layout.Module
	Versions(ctx context.Context, m layout.Module) ([]catalog.Release, error)
	Release(ctx context.Context, v layout.ModuleVersion) (catalog.Release, error)
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

// Options configure a server.
type Options struct {
	Modules   Modules
	Providers Providers // nil for none
	Mirror    Providers // nil for none
	Access    Access
	// Anonymous allows requests without a token to read everything.
	Anonymous bool
	// Key signs paths. Servers of one registry share it.
	Key []byte
	// Host is the registry's public host, with its port unless that is 443.
	Host string
	Log  *slog.Logger
	Now  func() time.Time
}

// Server serves the protocols. It is safe for concurrent use.
type Server struct {
	opts Options
}

// New returns a server.
func New(opts Options) *Server { return &Server{opts: opts} }

// Host is the host to write in sources.
func (s *Server) Host() string { return s.opts.Host }

// Handler serves everyone: requests are authenticated by their bearer token.
func (s *Server) Handler() http.Handler { return http.NotFoundHandler() }

// ServeAs serves one identity, whoever sends the requests: tokens are ignored. It is for callers that
// have authenticated the client. All links in answers are relative, so the handler can be mounted
// below any prefix that the caller strips. It serves neither login nor the management API.
func (s *Server) ServeAs(Identity) http.Handler { return http.NotFoundHandler() }
