// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/registry/modules"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fetch"
	"github.com/yuba-dev/yuba/internal/runs/runner/meter"
)

// moduleScope is the part of the store of modules that a run's come from and go to, and what of the stack's environment and
// certificates their download needs; nil without a store, or when the stack has the tool look in places of its own or may have
// it run programs; then why says what is in the way. Whatever a download can see of a stack is in the scope's name.
func (m *moduleStep) moduleScope() (scope *modules.Scope, f *fetch.Fetcher, why string) {
	if m.task.modules == nil || len(m.task.spec.CLIConfig) > fetch.MaxUnderstood {
		return nil, nil, ""
	}
	files := m.homeFiles()
	if why := fetch.StartsPrograms(m.task.spec.Env, files); why != "" {
		return nil, nil, why
	}
	env := fetch.Environment(&m.task.spec)
	for _, e := range m.task.spec.Env {
		if fetch.HasAnyPrefix(e.Name, []string{"XDG_", "TF_REATTACH_PROVIDERS"}) || e.Name == "TF_CLI_ARGS" || e.Name == "TF_CLI_ARGS_init" || e.Name == "TF_CLI_ARGS_get" {
			return nil, nil, ""
		}
		if fetch.IsHarmless(e.Name) && !strings.ContainsAny(e.Name, "=\x00") && !strings.Contains(e.Value, "\x00") {
			env = append(env, e)
		}
	}
	env, authorities, unreadable := m.downloads.takeAuthorities(env)
	if unreadable != "" {
		return nil, nil, ""
	}
	// A file of the stack's own directory is nowhere else.
	if slices.ContainsFunc(env, func(e run.EnvVar) bool { return strings.Contains(e.Value, m.task.opts.WorkRoot) }) {
		return nil, nil, ""
	}
	f = &fetch.Fetcher{Tool: m.site.space.Tool, Sandbox: m.task.opts.Sandbox, Mirror: m.task.opts.ProviderMirror, Walls: m.task.walls, Users: m.task.users, Limits: meter.ProcessLimits(m.task.spec.Limits, m.task.walls), Config: m.task.spec.CLIConfig, Env: env, Authorities: authorities, Mask: m.task.mask}
	if len(m.task.spec.CLIConfig) == 0 && len(env) == 0 && len(authorities) == 0 && len(files) == 0 {
		return m.task.modules.Scope(""), f, ""
	}
	slices.SortStableFunc(env, func(a, b run.EnvVar) int { return strings.Compare(a.Name, b.Name) })
	identity := []any{m.task.spec.CLIConfig, env, files}
	if len(authorities) > 0 {
		identity = append(identity, authorities)
	}
	sum := sha256.Sum256(mustJSON(identity))
	return m.task.modules.Scope(hex.EncodeToString(sum[:])), f, ""
}

// homeFiles are the files that come with the run for its home directory, where git and others look for credentials.
func (m *moduleStep) homeFiles() []run.File {
	var files []run.File
	for _, f := range m.task.spec.Files {
		if f.Location == run.FileInHome {
			files = append(files, f)
		}
	}
	slices.SortStableFunc(files, func(a, b run.File) int { return strings.Compare(a.Path, b.Path) })
	return files
}

// moduleFetcher has the tool fetch a module. It goes on for other runs that wait for the same when the one that began it
// has ended, so that it has nothing of that one's working directory.
func (m *moduleStep) moduleFetcher(f *fetch.Fetcher, call modules.Call) modules.Fetcher {
	files := m.homeFiles()
	return func(ctx context.Context, dir string) ([]modules.Found, error) {
		return f.Module(ctx, dir, call, files)
	}
}
