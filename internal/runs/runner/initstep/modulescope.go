// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package initstep

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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

// moduleScope returns the run's part of the module store, named by everything of the stack that a
// download can see, and a fetcher. It returns nil without a store or if the stack has its own
// locations; why is set if git could run programs of the stack.
func (m *moduleStep) moduleScope() (scope *modules.Scope, f *fetch.Fetcher, why string) {
	if m.run.Modules == nil || len(m.run.Spec.CLIConfig) > fetch.MaxUnderstood {
		return nil, nil, ""
	}
	files := m.homeFiles()
	if why := fetch.StartsPrograms(m.run.Spec.Env, files); why != "" {
		return nil, nil, why
	}
	env := fetch.Environment(&m.run.Spec)
	for _, e := range m.run.Spec.Env {
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
	// A download cannot read a file in the working directory.
	if slices.ContainsFunc(env, func(e run.EnvVar) bool { return strings.Contains(e.Value, m.run.Opts.WorkRoot) }) {
		return nil, nil, ""
	}
	f = &fetch.Fetcher{Tool: m.site.Space.Tool, Sandbox: m.run.Opts.Sandbox, Mirror: m.run.Opts.ProviderMirror, Walls: m.run.Walls, Users: m.run.Users, Limits: usage.ProcessLimits(m.run.Spec.Limits, m.run.Walls, m.run.Opts.Pod), Config: m.run.Spec.CLIConfig, Env: env, Authorities: authorities, Mask: m.run.Mask, Relay: m.run.Relay(nil)}
	if len(m.run.Spec.CLIConfig) == 0 && len(env) == 0 && len(authorities) == 0 && len(files) == 0 {
		return m.run.Modules.Scope(""), f, ""
	}
	slices.SortStableFunc(env, func(a, b run.EnvVar) int { return strings.Compare(a.Name, b.Name) })
	identity := []any{m.run.Spec.CLIConfig, env, files}
	if len(authorities) > 0 {
		identity = append(identity, authorities)
	}
	sum := sha256.Sum256(execution.Encode(identity))
	return m.run.Modules.Scope(hex.EncodeToString(sum[:])), f, ""
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
