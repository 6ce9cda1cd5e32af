// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/runs/confinement"
)

// FindWalls finds and prepares the confinement that this machine offers below a directory. If
// required, a missing wall is an error.
func FindWalls(ctx context.Context, sandbox, workRoot string, required bool) (confinement.Walls, error) {
	if err := os.MkdirAll(workRoot, 0o700); err != nil {
		return confinement.Walls{}, fmt.Errorf("create the directory of working directories: %w", err)
	}
	walls, err := confinement.Probe(ctx, sandbox, filepath.Dir(workRoot), workRoot)
	if err == nil && required && !walls.Complete() {
		err = &UnconfinedError{Missing: walls.Missing}
	}
	return walls, err
}

// buildWalls finds the confinement for this runner's programs.
func (r *runner) buildWalls(ctx context.Context) error {
	var err error
	if r.Walls, err = FindWalls(ctx, r.Opts.Sandbox, r.Opts.WorkRoot, r.Opts.RequireConfinement); err != nil {
		return err
	}
	r.HomeLink = r.Opts.Pod && !r.Walls.Alone() && linksHome()
	if r.Walls.Users {
		unix.Umask(0o022) // shared files must be readable; private ones set their own mode
	}
	return nil
}

// linksHome reports whether the runner can make a link at confinement.HomePath: its Pod has a volume
// there, and nothing else is in it.
func linksHome() bool {
	if err := os.Remove(confinement.HomePath); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	return os.Symlink("/nonexistent", confinement.HomePath) == nil
}

// UnconfinedError reports missing walls that were required.
type UnconfinedError struct{ Missing []confinement.Missing }

func (e *UnconfinedError) Error() string {
	lines := []string{"confine programs: this machine lacks walls that --require-confinement needs:"}
	for _, m := range e.Missing {
		lines = append(lines, "    "+m.String())
	}
	return strings.Join(append(lines, "See docs/how-to/confinement.md for the requirements"), "\n")
}

// sayConfinement warns if programs can read other files, and notes other missing walls.
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
