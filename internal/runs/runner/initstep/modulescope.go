// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package initstep

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/registry/modules"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/fetch"
	"github.com/yuba-dev/yuba/internal/runs/runner/usage"
)

// The store keeps git modules by commit, so ls-remote replaces a clone if a branch has not moved.

// maxResolve limits that request.
const maxResolve = time.Minute

// moduleResolver asks git repositories, with nothing of the stack but its credentials.
func (m *moduleStep) moduleResolver(f *fetch.Fetcher) modules.Resolver {
	files := m.homeFiles()
	return func(ctx context.Context, dir string, a modules.Answer) (string, error) {
		at, err := modules.ParseGitSource(a.Source)
		if err != nil {
			return "", err
		}
		git, err := fetch.SystemProgram("git")
		if err != nil {
			return "", err
		}
		ctx, cancel := context.WithTimeoutCause(ctx, maxResolve, fmt.Errorf("the repository did not answer within %s", maxResolve))
		defer cancel()
		if err := f.Furnish(dir, files); err != nil {
			return "", err
		}
		out, err := f.Run(ctx, dir, git, slices.Concat([]string{"ls-remote", "--", at.URL}, at.Names())...)
		if err != nil {
			return "", err
		}
		return at.Commit(out)
	}
}

// origins are the parts of the module store that a run uses, each with a fetcher.
type origins struct {
	// open has modules of all other origins; nil without a store, or if the stack downloads its own
	// way. registry has what the server's registry lets the stack read, see [run.Spec.RevokedFor].
	open     *origin
	registry []*origin
}

// origin is a scope of the store, and a fetcher for it.
type origin struct {
	scope *modules.Scope
	fetch *fetch.Fetcher
}

// moduleOrigins returns the run's parts of the module store. They are named by everything of the
// stack that a download can see. Why is set if git could run programs of the stack.
func (m *moduleStep) moduleOrigins() (from origins, why string) {
	if m.run.Modules == nil || len(m.run.Spec.CLIConfig) > fetch.MaxUnderstood {
		return from, ""
	}
	files := m.homeFiles()
	if why := fetch.StartsPrograms(m.run.Spec.Env, files); why != "" {
		return from, why
	}
	env := fetch.Environment(&m.run.Spec)
	for _, e := range m.run.Spec.Env {
		if fetch.HasAnyPrefix(e.Name, []string{"XDG_", "TF_REATTACH_PROVIDERS"}) || e.Name == "TF_CLI_ARGS" || e.Name == "TF_CLI_ARGS_init" || e.Name == "TF_CLI_ARGS_get" {
			return from, ""
		}
		if fetch.IsHarmless(e.Name) && !strings.ContainsAny(e.Name, "=\x00") && !strings.Contains(e.Value, "\x00") {
			env = append(env, e)
		}
	}
	env, authorities, unreadable := m.downloads.takeAuthorities(env)
	if unreadable != "" {
		return from, ""
	}
	// A download cannot read a file in the working directory.
	if slices.ContainsFunc(env, func(e run.EnvVar) bool { return strings.Contains(e.Value, m.run.Opts.WorkRoot) }) {
		return from, ""
	}
	f := &fetch.Fetcher{Tool: m.site.Space.Tool, Sandbox: m.run.Opts.Sandbox, Mirror: m.run.Opts.ProviderMirror, Walls: m.run.Walls, Users: m.run.Users, Limits: usage.ProcessLimits(m.run.Spec.Limits, m.run.Walls, m.run.Opts.Pod), Config: m.run.Spec.CLIConfig, Env: env, Authorities: authorities, Mask: m.run.Mask, Relay: m.run.Relay(nil)}
	identity := ""
	if len(m.run.Spec.CLIConfig) > 0 || len(env) > 0 || len(authorities) > 0 || len(files) > 0 {
		slices.SortStableFunc(env, func(a, b run.EnvVar) int { return strings.Compare(a.Name, b.Name) })
		parts := []any{m.run.Spec.CLIConfig, env, files}
		if len(authorities) > 0 {
			parts = append(parts, authorities)
		}
		sum := sha256.Sum256(execution.Encode(parts))
		identity = hex.EncodeToString(sum[:])
	}
	from.open = &origin{m.run.Modules.Scope(identity), f}
	from.registry = m.registryOrigins(f, identity)
	return from, ""
}

// registryOrigins are those of the server's registry, if there is one.
func (m *moduleStep) registryOrigins(like *fetch.Fetcher, identity string) (all []*origin) {
	if about := m.run.Spec.Registry; about == nil || about.Host == "" {
		return nil
	}
	for _, revoked := range m.run.Spec.RevokedFor() {
		f := *like
		f.Registry = m.downloads.registry(revoked, false)
		all = append(all, &origin{m.run.Modules.Scope(m.downloads.registryScope(identity, revoked)), &f})
	}
	return all
}

// of returns the origins of a call, to be tried in this order. Modules from elsewhere that call one
// of the registry are fetched with the registry in reach, and kept with what came from there.
func (o *origins) of(call modules.Call, ours bool) []*origin {
	if ours {
		return o.registry
	}
	return append([]*origin{o.open}, o.registry...)
}

// worthAnother reports whether a call may succeed with the next origin after this error.
func (o *origins) worthAnother(err error, ours bool) bool {
	if ours || errors.Is(err, modules.ErrFailed) {
		return true
	}
	return len(o.registry) > 0 && strings.Contains(err.Error(), o.registry[0].fetch.Registry.Host)
}

// homeFiles are the run's files for its home directory, where git and others find credentials.
func (m *moduleStep) homeFiles() []run.File {
	var files []run.File
	for _, f := range m.run.Spec.Files {
		if f.Location == run.FileInHome {
			files = append(files, f)
		}
	}
	slices.SortStableFunc(files, func(a, b run.File) int { return strings.Compare(a.Path, b.Path) })
	return files
}

// moduleFetcher downloads with the tool. It uses no working directory, and may outlive its run.
func (m *moduleStep) moduleFetcher(f *fetch.Fetcher, call modules.Call) modules.Fetcher {
	files := m.homeFiles()
	return func(ctx context.Context, dir string) ([]modules.Found, error) {
		return f.Module(ctx, dir, call, files)
	}
}
