// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"context"
	"net/http"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	gateway "github.com/yuba-dev/yuba/internal/gateway/registry"
	"github.com/yuba-dev/yuba/internal/registry/opentofu"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// runRegistry serves the registry to the downloads of runs.
type runRegistry struct {
	server *gateway.Server
	mirror *run.Mirror
}

// runRegistry returns the registry as runs use it.
func (e *engine) runRegistry() runRegistry {
	r := runRegistry{server: e.registry.server}
	if opts := e.opts.Registry; !opts.RunsSkipMirror {
		r.mirror = &run.Mirror{Allow: opts.MirrorAllow, Deny: opts.MirrorDeny}
	}
	return r
}

// keptTools lists the tools in the registry's bucket; none while there is no bucket yet.
func (e *engine) keptTools(ctx context.Context) ([]opentofu.Version, error) {
	if e.registry.tools == nil {
		return nil, nil
	}
	return e.registry.tools.List(ctx)
}

// About implements executor.Registry.
func (r runRegistry) About() *run.Registry {
	return &run.Registry{Host: r.server.Host(), Mirror: r.mirror}
}

// For implements executor.Registry. A run may read what its service account may, whether that exists
// or not.
func (r runRegistry) For(spec *run.Spec, tell func(waits string)) http.Handler {
	account := cmp.Or(spec.ServiceAccount, infrav1.DefaultServiceAccount)
	return r.server.ServeRun(gateway.RunRequest{Who: gateway.ServiceAccount(spec.Stack.Namespace, account), For: "stack " + spec.Stack.String(), Tell: tell})
}
