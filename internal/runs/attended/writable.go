// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package attended

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// gitDir has hooks and settings that git runs outside of the sandbox.
const gitDir = ".git"

// tofuDir is what init makes. It has clones of modules, which init writes, and in which nobody uses git.
const tofuDir = ".terraform"

// writable are the paths that tofu may write in the library, without links. They are looked up for each
// call: the call before may have replaced a directory by a link.
func (d *Desk) writable() (paths []string, err error) {
	library, err := filepath.EvalSymlinks(d.Library)
	if err != nil {
		return nil, fmt.Errorf("find what tofu may write: %w", err)
	}
	for i, dir := range append([]string{d.Dir}, d.Writable...) {
		real, err := filepath.EvalSymlinks(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("find what tofu may write: %w", err)
		}
		inside, err := filepath.Rel(library, real)
		switch {
		case err != nil || !filepath.IsLocal(inside):
			return nil, fmt.Errorf("let tofu write %s: it leads out of %s", dir, d.Library)
		case slices.ContainsFunc(strings.Split(inside, string(filepath.Separator)), isGit):
			return nil, fmt.Errorf("let tofu write %s: it leads into %s, whose hooks and settings git runs outside of the sandbox", dir, gitDir)
		case i > 0 && inside == ".":
			return nil, fmt.Errorf("let tofu write %s: it is the root of the repository. Name a directory of it", dir)
		}
		if paths, err = besideGit(paths, real); err != nil {
			return nil, fmt.Errorf("find what tofu may write: %w", err)
		}
	}
	return paths, nil
}

// besideGit adds a directory, or what is in it but for each .git, also those of clones and submodules below: the sandbox
// cannot take a part of a directory away.
func besideGit(paths []string, dir string) ([]string, error) {
	if has, err := hasGit(dir); err != nil || !has {
		return append(paths, dir), err
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrPermission) {
		return paths, nil // it may have one
	}
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		at := filepath.Join(dir, e.Name())
		switch {
		case isGit(e.Name()): // nor a link, which may lead there
		case e.Name() == tofuDir:
			paths = append(paths, at)
		case e.IsDir():
			if paths, err = besideGit(paths, at); err != nil {
				return nil, err
			}
		case e.Type().IsRegular():
			paths = append(paths, at)
		}
	}
	return paths, nil
}

// hasGit reports whether there is a .git in a directory or below it, or may be: in a directory of this user that only tofu
// would make readable.
func hasGit(dir string) (has bool, err error) {
	err = filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrPermission):
			if info, problem := os.Lstat(name); problem == nil && ofOthers(info) {
				return nil
			}
			has = true
			return fs.SkipAll
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case isGit(e.Name()):
			has = true
			return fs.SkipAll
		case e.IsDir() && e.Name() == tofuDir:
			return fs.SkipDir
		}
		return nil
	})
	return has, err
}

func isGit(name string) bool { return strings.EqualFold(name, gitDir) }

// BesideGit reports whether the directory of tofu has a git repository, so that it can make no files there.
func (d *Desk) BesideGit() bool {
	has, err := hasGit(d.Dir)
	return d.Sandbox != "" && err == nil && has
}
