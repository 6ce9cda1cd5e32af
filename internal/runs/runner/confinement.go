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

// buildWalls finds out what confines this runner's programs.
func (r *runner) buildWalls(ctx context.Context) error {
	var err error
	if r.Walls, err = FindWalls(ctx, r.Opts.Sandbox, r.Opts.WorkRoot, r.Opts.RequireConfinement); err != nil {
		return err
	}
	if r.Walls.Users {
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

// sayConfinement warns where nothing keeps the program from files of others, and notes which other walls are missing.
func (j *job) sayConfinement() {
	if !j.run.Walls.Hides() {
		for _, m := range j.run.Walls.Missing {
			j.run.Warn("tofu runs unconfined: %s", m)
		}
		return
	}
	for _, m := range j.run.Walls.Missing {
		j.run.Log.Note("A wall around the program is missing: %s", m)
	}
}
