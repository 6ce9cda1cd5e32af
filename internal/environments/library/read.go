// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// Limits of a library. Large ones have some hundred modules with a few MiB.
const (
	maxModules = 5000
	maxFile    = 2 << 20
	maxSize    = 128 << 20
)

// Library is what the modules of a tree declare, by directory; "." is the tree's root.
type Library struct {
	Modules map[string]*Module
}

// Module is a module of a library.
type Module struct {
	Dir string
	*module.Module
	Wiring *module.Wiring
	// Problems are errors of the configuration itself.
	Problems diagnostic.List
}

// Read reads all modules of a tree. The file system must not follow links out of it. It does not enter
// directories whose names begin with a dot, and those of node_modules.
func Read(fsys fs.FS) (*Library, error) {
	r := &reader{fsys: fsys, files: map[string]map[string][]byte{}}
	if err := fs.WalkDir(fsys, ".", r.visit); err != nil {
		return nil, fmt.Errorf("read the modules: %w", err)
	}
	l := &Library{Modules: map[string]*Module{}}
	for dir, files := range r.files {
		m := &Module{Dir: dir}
		m.Module, m.Problems = module.Parse(files)
		if len(m.Files) == 0 {
			continue // only values
		}
		m.Wiring, _ = module.ReadWiring(files, m.Module)
		l.Modules[dir] = m
	}
	return l, nil
}

// reader collects the configuration files of a tree, by directory.
type reader struct {
	fsys  fs.FS
	files map[string]map[string][]byte
	size  int64
}

func (r *reader) visit(name string, entry fs.DirEntry, err error) error {
	base := path.Base(name)
	switch {
	case err != nil:
		return err
	case entry.IsDir() && name != "." && (strings.HasPrefix(base, ".") || base == "node_modules"):
		return fs.SkipDir
	case !entry.Type().IsRegular() || !module.IsConfigFile(name):
		return nil
	}
	file, err := r.fsys.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxFile+1)) // Parse refuses what is longer
	if err != nil {
		return err
	}
	dir := path.Dir(name)
	if r.files[dir] == nil {
		r.files[dir] = map[string][]byte{}
	}
	r.files[dir][base] = content
	if r.size += int64(len(content)); r.size > maxSize || len(r.files) > maxModules {
		return errors.Join(fs.ErrInvalid, fmt.Errorf("the tree has more than %d modules or %d MiB of configuration. Name a directory below it", maxModules, maxSize>>20))
	}
	return nil
}

// Dirs are the directories of all modules, sorted.
func (l *Library) Dirs() []string { return slices.Sorted(maps.Keys(l.Modules)) }

// callee is the directory of a local call; ok is false for others.
func callee(dir string, c module.PlacedCall) (at string, ok bool) {
	return path.Join(dir, c.Source), c.Local() && !c.Computed
}

// Roots are the directories of modules that no other one calls, sorted.
func (l *Library) Roots() (roots []string) {
	called := map[string]bool{}
	for dir, m := range l.Modules {
		for _, c := range m.Wiring.Calls {
			if at, ok := callee(dir, c.PlacedCall); ok && at != dir {
				called[at] = true
			}
		}
	}
	for _, dir := range l.Dirs() {
		if !called[dir] {
			roots = append(roots, dir)
		}
	}
	return roots
}
