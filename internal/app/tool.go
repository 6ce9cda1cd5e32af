// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/home/datadir"
	"github.com/yuba-dev/yuba/internal/registry/opentofu"
	"github.com/yuba-dev/yuba/internal/runs/confinement"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner"
	"github.com/yuba-dev/yuba/internal/runs/runner/tools"
)

// tool is the default program of runs, with the launcher that confines it and the program that
// executes runs.
type tool struct {
	path, version   string
	sandbox, runner string
	// walls are the walls of confinement on this machine.
	walls confinement.Walls
	// network is that of runs, for people; empty for the machine's.
	network string
}

// confinedTool finds tofu and how this machine can confine it.
func confinedTool(ctx context.Context, o *Common, dir datadir.Dir) (tool, error) {
	t, err := findTool(ctx, o, o.toolDir(dir.Tools()))
	if err != nil {
		return t, err
	}
	return t, t.findWalls(ctx, dir.Work(), o)
}

// findTool finds tofu: the configured one, beside this program, or on PATH; then terraform on PATH,
// then the newest in the directory of tools. Otherwise it may download one.
func findTool(ctx context.Context, o *Common, tools string) (tool, error) {
	var t tool
	path, err := o.locate(ctx, tools)
	if err != nil {
		return t, err
	}
	if t.path, err = filepath.Abs(path); err != nil {
		return t, fmt.Errorf("find tofu: %w", err)
	}
	if t.version, err = toolVersion(ctx, t.path); err != nil {
		return t, err
	}
	if t.sandbox, err = beside("yuba-sandbox"); err != nil {
		return t, err
	}
	if t.runner, err = beside("yuba-runner"); err != nil {
		return t, err
	}
	return t, nil
}

// findWalls finds out how programs can be confined on this machine. With --require-confinement, no
// wall may be missing.
func (t *tool) findWalls(ctx context.Context, work string, o *Common) error {
	var err error
	if t.walls, err = runner.FindWalls(ctx, t.sandbox, work, o.RequireConfinement); err != nil {
		return err
	}
	if o.RunNetwork == run.NoNetwork && !t.walls.Alone() {
		return fmt.Errorf("start runs without a network: that requires namespaces, which this machine does not support: %s", t.walls.Missing[0].Why)
	}
	switch o.RunNetwork {
	case run.NoNetwork:
		t.network = run.NoNetwork
	case run.IsolatedNetwork:
		t.network = run.IsolatedNetwork + ", reaches " + strings.Join(o.RunNetworkAllow, ", ")
		if err := t.walls.ProbeTunnel(ctx); err != nil {
			return fmt.Errorf("start runs with an isolated network: %w", err)
		}
	}
	return nil
}

// wallLines describes the confinement: a line for the active walls, one for the network of runs if it
// is not the machine's, and one for each missing wall.
func (t *tool) wallLines(format string) string {
	lines := fmt.Sprintf(format, "Walls:", t.walls.Summary())
	if t.network != "" {
		lines += fmt.Sprintf(format, "Network:", t.network)
	}
	for _, m := range t.walls.Missing {
		lines += fmt.Sprintf(format, "Missing:", m)
	}
	return lines
}

func (o *Common) locate(ctx context.Context, dir string) (string, error) {
	if o.Tofu != "" {
		path, err := exec.LookPath(o.Tofu)
		if err != nil {
			return "", fmt.Errorf("find tofu: %w. Set the program with --tofu", err)
		}
		return path, nil
	}
	if path, err := beside("tofu"); err == nil {
		return path, nil
	}
	for _, name := range []string{"tofu", "terraform"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	if newest := tools.Newest(ctx, dir); newest != "" {
		return newest, nil
	}
	return o.fetchTofu(ctx, dir)
}

// beside finds a program that is installed with this one.
func beside(name string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	path := filepath.Join(filepath.Dir(self), name)
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
		return path, nil
	}
	path, err = exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("find %s: it is neither beside %s nor on PATH; install yuba, yuba-runner, yuba-sandbox, yuba-network, yuba-kustomize, yuba-policy, yuba-helm and yuba-sops together", name, self)
	}
	return path, nil
}

// outputPatience is how long a child of the tool may hold its output after the tool has ended.
const outputPatience = 2 * time.Second

func toolVersion(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "version", "-json")
	cmd.Env = []string{"CHECKPOINT_DISABLE=1", "HOME=/nonexistent"}
	cmd.WaitDelay = outputPatience
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrWaitDelay) {
		return "", fmt.Errorf("read the version of %s: it ended and left a process that holds its output. If it is a script, start tofu with exec, and redirect the output of other programs", path)
	}
	if err != nil {
		return "", fmt.Errorf("read the version of %s: %w", path, err)
	}
	var answer struct {
		Version string `json:"terraform_version"`
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		return "", fmt.Errorf("read the version of %s: %w", path, err)
	}
	return answer.Version, tools.CheckVersion(path, answer.Version)
}

func (e *engine) concurrency() int {
	if e.opts.Concurrency > 0 {
		return e.opts.Concurrency
	}
	if e.opts.Pods != nil {
		return podConcurrency
	}
	return max(2, runtime.NumCPU())
}

// missingWalls describes the missing walls.
func (t *tool) missingWalls() []string {
	var missing []string
	for _, m := range t.walls.Missing {
		missing = append(missing, m.String())
	}
	return missing
}

// ToolDir returns the directory of tools of a data directory, and creates it if it is missing.
func ToolDir(dataDir string) (string, error) {
	dir, err := datadir.Open(dataDir)
	return dir.Tools(), err
}

// fetchTofu installs the OpenTofu that Yuba is tested with, for a server that has found none.
func (o *Common) fetchTofu(ctx context.Context, tools string) (string, error) {
	if !o.FetchTofu {
		return "", noTofu(tools, errors.New("--fetch-tofu=false disables downloading it"))
	}
	narrator := newNarrator(o)
	narrator.say("No tofu beside yuba, on PATH or in %s. Downloading OpenTofu %s from %s", tools, opentofu.Pinned, o.ToolSource.Shown())
	began := time.Now()
	installed, err := opentofu.Install(ctx, o.ToolSource, tools, opentofu.Pinned, opentofu.Quarters(func(done string) { narrator.say("  %s", done) }))
	if err != nil {
		return "", noTofu(tools, err)
	}
	if installed.Already { // by another server meanwhile
		return installed.Path, nil
	}
	narrator.say("Installed %s in %s; it is signed by %s", installed.Path, time.Since(began).Round(100*time.Millisecond), installed.Signer)
	return installed.Path, nil
}

// noTofu says why there is no tofu, and how to get it.
func noTofu(tools string, err error) error {
	return fmt.Errorf("find tofu: it is neither on PATH, nor beside yuba, nor in %s, and %w.\n"+
		"Install OpenTofu from the network or a mirror (--url), build it in a checkout of Yuba, or name it:\n"+
		"    yuba tools install %s --tools %s\n    make tofu\n    yuba up --tofu PATH", tools, err, opentofu.Pinned, datadir.Quoted(tools))
}
