// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"net/http"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// answered is the answer of functions that have written it themselves.
type answered struct{}

// serveRegistry lets the downloads of a run use the registry.
func (p *protocol) serveRegistry(en *entry, w http.ResponseWriter, r *http.Request) (any, error) {
	if p.opts.Registry == nil {
		return nil, refused(http.StatusNotFound, "this server has no registry")
	}
	handler := p.opts.Registry.For(en.spec, func(waits string) { p.hand.waitsForTool(en, waits) })
	if handler == nil {
		return nil, refused(http.StatusServiceUnavailable, "the registry is starting")
	}
	inner := r.Clone(r.Context())
	// The run's token means nothing to the registry, which must not take it for one of its own.
	inner.Header.Del("Authorization")
	if !en.spec.Allows(run.Revoked(inner.Header.Get(run.HeaderRevoked))) {
		inner.Header.Del(run.HeaderRevoked)
	}
	w.Header().Set(run.HeaderRegistry, "1")
	http.StripPrefix(run.PathPrefix+"/runs/"+en.id+"/registry", handler).ServeHTTP(w, inner)
	return answered{}, nil
}

// aboutRegistry is what a run gets to know about the registry.
func (o *Options) aboutRegistry(spec *run.Spec) *run.Registry {
	if o.Registry == nil {
		return nil
	}
	return o.Registry.About(spec)
}
