// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// once reports whether the runner exits after one run: it was told to, or something of a run might
// outlive it in this Pod.
func (r *runner) once() bool { return r.Opts.Pod && (r.Opts.Once || !r.Walls.LeaveNothing()) }

// heal restores the modes of the runner's files after a run. In a Pod without user namespaces,
// programs have the runner's user: Landlock keeps them from other files, but not from changing their
// modes, and the next run could not read them.
func (r *runner) heal() {
	if !r.Opts.Pod || r.Walls.Alone() || r.Walls.Users {
		return
	}
	healed, err := healTree(r.Opts.Dir, r.Opts.WorkRoot, r.Opts.ProviderStore, r.Opts.Tools)
	if err != nil {
		r.Opts.Log.Warn("restore the modes of files after a run", "error", err)
	}
	if healed > 0 {
		r.Opts.Log.Warn("a run had changed the modes of files that are not its own; they are restored", "files", healed)
	}
}

// healTree gives the owner access to everything below directories, and counts what lacked it. Nobody
// else writes there meanwhile.
func healTree(dirs ...string) (healed int, err error) {
	for _, dir := range dirs {
		if dir == "" {
			continue
		}
		err = errors.Join(err, filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
			if err != nil {
				return ignoreMissing(err)
			}
			info, err := entry.Info()
			if err != nil {
				return ignoreMissing(err)
			}
			mode := info.Mode().Perm()
			if lacking := neededMode(name, info.Mode()) &^ mode; lacking != 0 {
				healed++
				return os.Chmod(name, mode|lacking)
			}
			return nil
		}))
	}
	return healed, err
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// neededMode is the least mode with which the runner and its programs work.
func neededMode(name string, mode fs.FileMode) fs.FileMode {
	switch {
	case mode.IsDir():
		return 0o700
	case !mode.IsRegular():
		return 0
	case strings.HasPrefix(filepath.Base(name), "terraform-provider-"), isTool(filepath.Base(name)):
		return 0o500
	}
	return 0o400
}

// isTool reports whether a file is a tool: tofu, or tofu-1.9.1 in the directory of tools.
func isTool(base string) bool {
	name, _, _ := strings.Cut(base, "-")
	return name == "tofu" || name == "terraform"
}
