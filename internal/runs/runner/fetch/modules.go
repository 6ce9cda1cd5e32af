// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/registry/modules"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// maxModuleFetch limits the download of a module and those that it calls.
const maxModuleFetch = 10 * time.Minute

// Module makes the tool download a module, with nothing of the stack but its credentials.
func (f *Fetcher) Module(ctx context.Context, dir string, call modules.Call, files []run.File) ([]modules.Found, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, maxModuleFetch, fmt.Errorf("the download took longer than %s", maxModuleFetch))
	defer cancel()
	f, err := f.connected(f.Registry.forModules())
	if err != nil {
		return nil, err
	}
	defer f.connection.Close()
	config, err := f.connection.Config([]byte(cmp.Or(string(f.Config), plainConfig)))
	if err != nil {
		return nil, err
	}
	if err := errors.Join(f.furnish(dir, string(config), files), f.writeCall(dir, call)); err != nil {
		return nil, err
	}
	if _, err := f.Run(ctx, dir, f.Tool.Path, "get", "-no-color"); err != nil {
		return nil, err
	}
	return f.fetchedModules(dir)
}

// Run runs a download program and returns its output.
func (f *Fetcher) Run(ctx context.Context, dir, program string, call ...string) ([]byte, error) {
	return f.run(ctx, dir, "", program, call...)
}

func (f *Fetcher) run(ctx context.Context, dir, mirror, program string, call ...string) ([]byte, error) {
	cmd, cell, out, errs, err := f.command(ctx, dir, mirror, program, call...)
	if err != nil {
		return nil, err
	}
	report, err := openReport(cell.Relay)
	if err != nil {
		return nil, err
	}
	cell.Relay = report.relay()
	err = f.runToEnd(cmd, cell, dir)
	notices := report.close()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, fmt.Errorf("start %s: %w", f.Sandbox, err)
	}
	if err != nil {
		name := filepath.Base(program)
		if program == f.Tool.Path {
			name = f.Tool.Name
		}
		return nil, fmt.Errorf("%s %s: %w", name, call[0], f.problem(out, errs, notices, err))
	}
	return out.Bytes(), nil
}

// plainConfig is the CLI configuration of stacks without one.
const plainConfig = "disable_checkpoint = true\n"

// Furnish prepares the directory of a download, with the stack's credentials.
func (f *Fetcher) Furnish(dir string, files []run.File) error {
	return f.furnish(dir, cmp.Or(string(f.Config), plainConfig), files)
}

func (f *Fetcher) furnish(dir, config string, files []run.File) error {
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
	return errors.Join(root.WriteFile(workspace.CLIConfigName, []byte(config), 0o600), f.placeAuthorities(dir))
}

// writeCall writes a program that calls one module.
func (f *Fetcher) writeCall(dir string, call modules.Call) error {
	program := fmt.Sprintf("module %q {\n  source = %s\n", fetchedKey, hclString(call.Source))
	if call.Version != "" {
		program += fmt.Sprintf("  version = %s\n", hclString(call.Version))
	}
	return os.WriteFile(filepath.Join(dir, "main.tf"), []byte(program+"}\n"), 0o600)
}

// fetchedKey is the name of the call.
const fetchedKey = "m"

// fetchedModules reads the tool's list of modules.
func (f *Fetcher) fetchedModules(dir string) ([]modules.Found, error) {
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
	var list modules.List
	if err := json.NewDecoder(io.LimitReader(file, modules.MaxListBytes)).Decode(&list); err != nil {
		return nil, fmt.Errorf("read the list of modules: %w", err)
	}
	found := list.Found(root.FS(), f.Tool.Name)
	if len(found) == 0 {
		return nil, errors.New("the tool placed the module outside of its modules directory")
	}
	return found, nil
}
