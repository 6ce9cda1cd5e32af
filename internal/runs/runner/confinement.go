// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/runs/confinement"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/fetch"
	"github.com/yuba-dev/yuba/internal/runs/runner/meter"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// FindWalls finds out what this machine can confine programs with that work below a directory, and prepares for it. Where
// all walls are required, a missing one is an error.
func FindWalls(ctx context.Context, sandbox, workRoot string, required bool) (confinement.Walls, error) {
	if err := os.MkdirAll(workRoot, 0o700); err != nil {
		return confinement.Walls{}, fmt.Errorf("make the directory of working directories: %w", err)
	}
	walls, err := confinement.Probe(ctx, sandbox, filepath.Dir(workRoot), workRoot)
	if err == nil && required && !walls.Complete() {
		err = &UnconfinedError{Missing: walls.Missing}
	}
	return walls, err
}

// disks are directories on all disks that runs write to.
func (q *equipment) disks() []string {
	if q.walls.Alone() {
		return []string{q.opts.WorkRoot, q.opts.Dir}
	}
	return []string{q.opts.WorkRoot, q.opts.Dir, filepath.Dir(workspace.TempPrefix)}
}

// buildWalls finds out what confines this runner's programs.
func (r *runner) buildWalls(ctx context.Context) error {
	var err error
	if r.walls, err = FindWalls(ctx, r.opts.Sandbox, r.opts.WorkRoot, r.opts.RequireConfinement); err != nil {
		return err
	}
	if r.walls.Users {
		unix.Umask(0o022) // what all runs share must be readable for all; what must not be has its mode from its maker
	}
	return nil
}

// UnconfinedError says that walls are missing that were required.
type UnconfinedError struct{ Missing []confinement.Missing }

func (e *UnconfinedError) Error() string {
	lines := []string{"confine programs: --require-confinement was given, and not all walls stand on this machine:"}
	for _, m := range e.Missing {
		lines = append(lines, "    "+m.String())
	}
	return strings.Join(append(lines, "docs/how-to/confinement.md tells what each needs"), "\n")
}

// cell is what tofu may touch.
func (g *supervisor) cell() confinement.Cell {
	w := g.site.space
	executable := append([]string{w.Tool.Path}, fetch.SystemExecutable...)
	executable = append(executable, g.mirrors()...)
	home := filepath.Join(w.Base, workspace.HomeDir) // at its own path, too, which programs may reach from their working directory
	return confinement.Cell{
		User: w.Record.User, Dir: w.Dir, Home: home, Temp: w.Temp, Mark: confinement.Mark(g.task.id),
		Writable:   append([]string{filepath.Join(w.Base, workspace.SourceDir), filepath.Join(w.Base, workspace.PlanDir), home}, fetch.SystemWritable...),
		Executable: executable,
		Readable:   append([]string{filepath.Join(w.Base, workspace.CLIConfigName), filepath.Join(w.Base, workspace.GivenDir)}, fetch.SystemReadable...),
		NoNetwork:  g.task.spec.Limits.Network == run.NoNetwork, Listen: g.task.spec.Limits.Listen,
		Limits: meter.ProcessLimits(g.task.spec.Limits, g.task.walls), Background: true,
	}
}

// checkNetwork fails where programs would have the machine's network and must not.
func (t *task) checkNetwork() error {
	if t.spec.Limits.Network == run.NoNetwork && !t.walls.Alone() {
		return fault.New(run.FailureConfiguration, "start a program without a network: this machine makes no namespaces. Start Yuba without --run-network none, or where yuba version names namespaces")
	}
	return nil
}

// sayConfinement warns where nothing keeps the program from files of others, and notes which other walls are missing.
func (j *job) sayConfinement() {
	if !j.task.walls.Hides() {
		for _, m := range j.task.walls.Missing {
			j.task.warn("tofu runs unconfined: %s", m)
		}
		return
	}
	for _, m := range j.task.walls.Missing {
		j.task.log.Note("A wall around the program is missing: %s", m)
	}
}

// endLeft returns what ends the processes that a program has left running, and says how many there were; nil where it had
// namespaces of its own, with which the kernel has ended them.
func (t *task) endLeft() func() int {
	if t.walls.Alone() {
		return nil
	}
	return func() int {
		ended, err := confinement.EndLeft(confinement.Mark(t.id), fetch.LeftPatience)
		if ended > 0 {
			t.log.Note("The program left %d processes running, which were ended", ended)
		}
		if err != nil {
			t.warn("what the program left running still runs: %v", err)
		}
		return ended
	}
}
