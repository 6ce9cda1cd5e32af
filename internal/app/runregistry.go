// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	gateway "github.com/yuba-dev/yuba/internal/gateway/registry"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/opentofu"
	"github.com/yuba-dev/yuba/internal/registry/usage"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// runRegistry serves the registry to the downloads of runs.
type runRegistry struct {
	server *gateway.Server
	mirror *run.Mirror
	engine *engine
}

// runRegistry returns the registry as runs use it.
func (e *engine) runRegistry() runRegistry {
	r := runRegistry{server: e.registry.server, engine: e}
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
func (r runRegistry) About(spec *run.Spec) *run.Registry {
	return &run.Registry{Host: r.server.Host(), Mirror: r.mirror, Revoked: spec.KeepsRevoked() && r.engine.hasRevoked(spec.Stack)}
}

// For implements executor.Registry. A run may read what its service account may, whether that exists
// or not.
func (r runRegistry) For(spec *run.Spec, tell func(waits string)) http.Handler {
	account := cmp.Or(spec.ServiceAccount, infrav1.DefaultServiceAccount)
	has := func(m layout.Module) (versions []string) {
		for _, v := range r.engine.modulesOf(spec.Stack) {
			if v.Module == m {
				versions = append(versions, v.Version)
			}
		}
		return versions
	}
	return r.server.ServeRun(gateway.RunRequest{Who: gateway.ServiceAccount(spec.Stack.Namespace, account), For: "stack " + spec.Stack.String(),
		Has: has, Destroys: spec.Destroy, Tell: tell})
}

// modulesOf are the versions of this registry's modules that a stack has, applied or planned, as far as
// its runs have told.
func (e *engine) modulesOf(stack run.Stack) (list []layout.ModuleVersion) {
	if e.usage == nil {
		return nil
	}
	entry, known := e.usage.index.Entry(stack.Namespace, stack.Name)
	if !known || entry.Stack.UID != stack.UID {
		return nil
	}
	for _, set := range []*usage.Set{entry.Applied, entry.Planned} {
		if set == nil {
			continue
		}
		for _, u := range set.Uses {
			if m, own := e.ownModule(u.Source); own && u.Kind == usage.Module {
				list = append(list, layout.ModuleVersion{Module: m, Version: u.Version})
			}
		}
	}
	return list
}

// hasRevoked reports whether a stack has revoked versions of modules.
func (e *engine) hasRevoked(stack run.Stack) bool {
	return slices.ContainsFunc(e.modulesOf(stack), e.registry.modules.Revoked)
}
