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
	"github.com/yuba-dev/yuba/internal/runs/runner/meter"
)

// A branch that has not moved leads to the module that is in the store already. So a module from git is kept by the commit that
// its repository had, and the repository is asked for that, which takes one exchange, before it is cloned again.

// maxResolve is how long that question may take.
const maxResolve = time.Minute

// moduleResolver asks git repositories where nothing of the stack is but its credentials.
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

// moduleScope is the part of the store of modules that a run's come from and go to, and what of the stack's environment and
// certificates their download needs; nil without a store, or when the stack has the tool look in places of its own or may have
// it run programs; then why says what is in the way. Whatever a download can see of a stack is in the scope's name.
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
	// A file of the stack's own directory is nowhere else.
	if slices.ContainsFunc(env, func(e run.EnvVar) bool { return strings.Contains(e.Value, m.run.Opts.WorkRoot) }) {
		return nil, nil, ""
	}
	f = &fetch.Fetcher{Tool: m.site.Space.Tool, Sandbox: m.run.Opts.Sandbox, Mirror: m.run.Opts.ProviderMirror, Walls: m.run.Walls, Users: m.run.Users, Limits: meter.ProcessLimits(m.run.Spec.Limits, m.run.Walls), Config: m.run.Spec.CLIConfig, Env: env, Authorities: authorities, Mask: m.run.Mask}
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

// homeFiles are the files that come with the run for its home directory, where git and others look for credentials.
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

// moduleFetcher has the tool fetch a module. It goes on for other runs that wait for the same when the one that began it
// has ended, so that it has nothing of that one's working directory.
func (m *moduleStep) moduleFetcher(f *fetch.Fetcher, call modules.Call) modules.Fetcher {
	files := m.homeFiles()
	return func(ctx context.Context, dir string) ([]modules.Found, error) {
		return f.Module(ctx, dir, call, files)
	}
}
