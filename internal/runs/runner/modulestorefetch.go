// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/registry/modules"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/meter"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// maxModuleFetch is how long the download of a module, and of those it calls, may take; maxModuleList how large the tool's
// list of them may be.
const (
	maxModuleFetch = 10 * time.Minute
	maxModuleList  = 4 << 20
)

// moduleScope is the part of the store of modules that a run's come from and go to, and what of the stack's environment and
// certificates their download needs; nil without a store, or when the stack has the tool look in places of its own or may have
// it run programs; then why says what is in the way. Whatever a download can see of a stack is in the scope's name.
func (m *moduleStep) moduleScope() (scope *modules.Scope, f *fetcher, why string) {
	if m.task.modules == nil || len(m.task.spec.CLIConfig) > maxUnderstood {
		return nil, nil, ""
	}
	files := m.task.homeFiles()
	if why := startsPrograms(m.task.spec.Env, files); why != "" {
		return nil, nil, why
	}
	env := fetchEnvironment(&m.task.spec)
	for _, e := range m.task.spec.Env {
		if hasPrefix(e.Name, []string{"XDG_", "TF_REATTACH_PROVIDERS"}) || e.Name == "TF_CLI_ARGS" || e.Name == "TF_CLI_ARGS_init" || e.Name == "TF_CLI_ARGS_get" {
			return nil, nil, ""
		}
		if isHarmless(e.Name) && !strings.ContainsAny(e.Name, "=\x00") && !strings.Contains(e.Value, "\x00") {
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
	f = &fetcher{tool: m.site.space.Tool, opts: &m.task.opts, walls: m.task.walls, users: m.task.users, limits: meter.ProcessLimits(m.task.spec.Limits, m.task.walls), config: m.task.spec.CLIConfig, env: env, authorities: authorities, mask: m.task.mask}
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
func (t *task) homeFiles() []run.File {
	var files []run.File
	for _, f := range t.spec.Files {
		if f.Location == run.FileInHome {
			files = append(files, f)
		}
	}
	slices.SortStableFunc(files, func(a, b run.File) int { return strings.Compare(a.Path, b.Path) })
	return files
}

// moduleFetcher has the tool fetch a module. It goes on for other runs that wait for the same when the one that began it
// has ended, so that it has nothing of that one's working directory.
func (m *moduleStep) moduleFetcher(f *fetcher, call modules.Call) modules.Fetcher {
	files := m.task.homeFiles()
	return func(ctx context.Context, dir string) ([]modules.Found, error) {
		return f.fetchModule(ctx, dir, call, files)
	}
}

// fetchModule has the tool fetch a module where nothing of the stack is but its credentials.
func (f *fetcher) fetchModule(ctx context.Context, dir string, call modules.Call, files []run.File) ([]modules.Found, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, maxModuleFetch, fmt.Errorf("the download took longer than %s", maxModuleFetch))
	defer cancel()
	if err := errors.Join(f.furnish(dir, files), f.writeCall(dir, call)); err != nil {
		return nil, err
	}
	if _, err := f.run(ctx, dir, f.tool.Path, "get", "-no-color"); err != nil {
		return nil, err
	}
	return f.fetchedModules(dir)
}

// run runs a program that downloads, and returns what it printed.
func (f *fetcher) run(ctx context.Context, dir, program string, call ...string) ([]byte, error) {
	cmd, out, errs, err := f.command(ctx, dir, "", program, call...)
	if err != nil {
		return nil, err
	}
	err = f.runToEnd(cmd, dir)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, fmt.Errorf("start %s: %w", f.opts.Sandbox, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %s", filepath.Base(program), call[0], f.problem(out, errs, err))
	}
	return out.Bytes(), nil
}

// furnish makes the directory of a download, with the stack's credentials.
func (f *fetcher) furnish(dir string, files []run.File) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range []string{workspace.HomeDir, "tmp"} {
		if err := root.Mkdir(name, 0o700); err != nil {
			return err
		}
	}
	for _, file := range files {
		name := path.Join(workspace.HomeDir, file.Path)
		if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
			return err
		}
		if err := root.WriteFile(name, file.Content, 0o600); err != nil {
			return err
		}
	}
	config := f.config
	if len(config) == 0 {
		config = []byte("disable_checkpoint = true\n")
	}
	return errors.Join(root.WriteFile(workspace.CLIConfigName, config, 0o600), f.placeAuthorities(dir))
}

// writeCall writes a program that calls one module.
func (f *fetcher) writeCall(dir string, call modules.Call) error {
	program := fmt.Sprintf("module %q {\n  source = %s\n", fetchedKey, hclString(call.Source))
	if call.Version != "" {
		program += fmt.Sprintf("  version = %s\n", hclString(call.Version))
	}
	return os.WriteFile(filepath.Join(dir, "main.tf"), []byte(program+"}\n"), 0o600)
}

// fetchedKey is what the module is called by that is fetched.
const fetchedKey = "m"

// fetchedModules reads what the tool has fetched.
func (f *fetcher) fetchedModules(dir string) ([]modules.Found, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, err := root.OpenFile(workspace.ManifestTF, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("read the list of modules: %w", err)
	}
	defer file.Close()
	var list moduleList
	if err := json.NewDecoder(io.LimitReader(file, maxModuleList)).Decode(&list); err != nil {
		return nil, fmt.Errorf("read the list of modules: %w", err)
	}
	r := &fetchedReader{tool: f.tool.Name, files: root.FS(), installed: map[string]installedModule{},
		reader: module.NewCallReader(root.FS(), module.ReadOptions{Terraform: f.tool.Name == "terraform"})}
	for _, m := range list.Modules {
		r.installed[m.Key] = m
	}
	r.read(".", "", 0)
	if len(r.found) == 0 {
		return nil, errors.New("the tool has fetched it to where modules do not belong")
	}
	return r.found, nil
}

// fetchedReader finds out which calls led to what was fetched. Calls that are not plain to see are left out.
type fetchedReader struct {
	reader    *module.CallReader
	tool      string
	files     fs.FS
	installed map[string]installedModule
	calls     int
	found     []modules.Found
}

func (r *fetchedReader) read(dir, key string, depth int) {
	calls, err := r.reader.Calls(dir, false)
	if err != nil || depth > maxModuleDepth {
		return
	}
	for name, call := range calls {
		place := strings.TrimPrefix(key+"."+name, ".")
		m, there := r.installed[place]
		if r.calls++; !there || r.calls > maxModuleCalls {
			continue
		}
		if !call.Local() {
			pkg := workspace.ModulesTF + "/" + place
			inside, below := strings.CutPrefix(m.Dir, pkg)
			if !below || inside != "" && inside[0] != '/' || inside != "" && !filepath.IsLocal(inside[1:]) {
				continue
			}
			r.found = append(r.found, modules.Found{Call: modules.Call{Tool: r.tool, Source: call.Source, Version: call.Version},
				FoundSource: m.Source, FoundVersion: m.Version, Package: pkg, Dir: path.Clean("./" + inside), Commit: commitOf(r.files, pkg)})
		}
		r.read(path.Clean(m.Dir), place, depth+1)
	}
}
