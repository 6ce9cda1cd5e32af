// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package initstep

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/yuba-dev/yuba/internal/registry/providers"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/fetch"
	"github.com/yuba-dev/yuba/internal/runs/runner/supervisor"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// The server's registry gives a stack what its service account may read. So what comes from there is
// kept in scopes of their own. Providers of other registries that the server's mirror has are public:
// they are in the shared scope, as without the mirror.

// registry is the server's registry for a download; nil if there is none. Mirrored is true if
// providers of other registries may come from there, too.
func (d *downloads) registry(revoked run.Revoked, mirrored bool) *fetch.Registry {
	about := d.run.Spec.Registry
	if about == nil {
		return nil
	}
	d.run.JoinRegistry()
	r := &fetch.Registry{Host: about.Host, Open: d.run.OpenRegistry(revoked)}
	if mirrored {
		r.Mirror = about.Mirror
	}
	return r
}

// ofRegistry reports whether a host in a source is the server's registry.
func (d *downloads) ofRegistry(host string) bool {
	about := d.run.Spec.Registry
	return about != nil && about.Host != "" && fetch.IsHost(host, about.Host)
}

// moduleHost is the host of a source that names a registry; else empty.
func moduleHost(source string) string {
	if strings.Contains(source, "::") || strings.Contains(source, "://") {
		return ""
	}
	source, _, _ = strings.Cut(source, "//")
	parts := strings.Split(source, "/")
	if len(parts) != 4 {
		return ""
	}
	return parts[0]
}

// registryScope names the scope of what the registry gives to this stack. Base identifies the stack's own
// settings for downloads. Others must not get revoked versions from the store.
func (d *downloads) registryScope(base string, revoked run.Revoked) string {
	kind := string(revoked)
	if revoked == run.UsedRevoked {
		kind += " by " + d.run.Spec.Stack.String() + " " + d.run.Spec.Stack.UID
	}
	hash := sha256.New()
	for _, part := range []string{"registry", d.run.Spec.Registry.Host, d.run.RegistryRights(), base, kind} {
		fmt.Fprintf(hash, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// source is where a provider comes from.
type source struct {
	scope *providers.Scope
	fetch *fetch.Fetcher
}

// providerSource is the scope and the fetcher of a provider.
func (d *downloads) providerSource(a providers.Address) source {
	shared := d.providerScope()
	f := d.fetcher()
	if !d.ofRegistry(a.Host) {
		f.Registry = d.registry(run.NoRevoked, d.scoped.public)
		return source{shared, f}
	}
	f.Registry = d.registry(run.NoRevoked, false)
	return source{d.ownProviders(), f}
}

// ownProviders is the scope of the registry's own providers; nil without one.
func (d *downloads) ownProviders() *providers.Scope {
	if d.run.Spec.Registry == nil || d.providerScope() == nil {
		return nil
	}
	return d.run.Store.Scope(d.registryScope(d.scoped.scope.Name, run.NoRevoked))
}

// providerScopes are all scopes that the run uses.
func (d *downloads) providerScopes() []*providers.Scope {
	var all []*providers.Scope
	for _, scope := range []*providers.Scope{d.providerScope(), d.ownProviders()} {
		if scope != nil {
			all = append(all, scope)
		}
	}
	return all
}

// connected runs a program of the stack's own init with a connection to the registry.
func (d *downloads) connected(program *supervisor.Supervisor, do func() error) error {
	revoked := d.run.Spec.RevokedFor()[0]
	if d.run.Spec.Destroy && revoked == run.NoRevoked { // the tool asks once, so for all
		revoked = run.AllRevoked
	}
	r := d.registry(revoked, false)
	if r == nil || r.Host == "" {
		return do()
	}
	return d.through(program, r, r.Host, r.OwnServices(), do)
}

// through runs a program of the stack with a connection to these services of the registry.
func (d *downloads) through(program *supervisor.Supervisor, r *fetch.Registry, host string, at fetch.Services, do func() error) error {
	w, limits := d.site.Space, d.run.Spec.Limits
	if len(at) == 0 || limits.Network == run.NoNetwork && len(limits.Isolated) == 0 {
		return do()
	}
	connection, err := r.Connect(host, at, d.run.Spec.CLIConfig)
	if err != nil || connection == nil {
		return orDo(err, do)
	}
	defer connection.Close()
	before, err := w.Root.ReadFile(workspace.CLIConfigName)
	if err != nil {
		return fmt.Errorf("read %s: %w", workspace.CLIConfigName, err)
	}
	config, err := connection.Config(before)
	if err != nil {
		return err
	}
	if err := w.Write(workspace.CLIConfigName, config); err != nil {
		return err
	}
	program.Connection = connection
	err = do()
	program.Connection = nil
	if restored := w.Write(workspace.CLIConfigName, before); restored != nil && err == nil {
		err = restored
	}
	return explained(err, connection.Problems())
}

func orDo(err error, do func() error) error {
	if err != nil {
		return err
	}
	return do()
}

// explained adds what the registry refused to the tool's failure.
func explained(err error, problems []string) error {
	f := fault.OfTool(err)
	if f == nil || len(problems) == 0 {
		return err
	}
	with := *f
	with.Err = fmt.Errorf("%w\n%s", f.Err, strings.Join(problems, "\n"))
	return &with
}
