// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package initstep

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fetch"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// The server sees what a program's own modules read, and not those from elsewhere. So the runner, which has them, looks into
// them when it puts them in place: whether they can change at all, and whether they read files of the source that calls them.

const (
	// maxForeignFile bounds one file that is looked into, maxForeignBytes those of a whole program.
	maxForeignFile  = 4 << 20
	maxForeignBytes = 128 << 20
	// maxForeignWorld bounds what is told of what they read of the world.
	maxForeignWorld = 10
)

// foreignReader looks into modules from elsewhere.
type foreignReader struct {
	files fs.FS
	// root is the root module; what is told is named from there.
	root  string
	bytes int64
	found run.Modules
}

func (r *foreignReader) whole(format string, args ...any) {
	if r.found.Whole == "" {
		r.found.Whole = fmt.Sprintf(format, args...)
	}
}

func (r *foreignReader) world(what string) {
	if len(r.found.World) < maxForeignWorld {
		r.found.World = append(r.found.World, what)
	}
}

// name is how a file is told of.
func (r *foreignReader) name(file string) string {
	if relative, err := filepath.Rel(r.root, file); err == nil {
		return filepath.ToSlash(relative)
	}
	return file
}

// source takes in a whole package. Links would lead to files that are looked for in vain where they seem to be.
func (r *foreignReader) source(ctx context.Context, pkg string) error {
	if r.found.Whole != "" {
		return nil
	}
	err := fs.WalkDir(r.files, pkg, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || ctx.Err() != nil:
			return cmp.Or(context.Cause(ctx), err)
		case entry.Name() == ".git" && name != pkg:
			return skip(entry)
		case !entry.IsDir() && !entry.Type().IsRegular():
			r.whole("%s is a link", r.name(name))
			return fs.SkipAll
		}
		return nil
	})
	return r.settle(ctx, pkg, err)
}

// skip leaves out a directory with all that is below, or a file: what git keeps there, no module reads.
func skip(entry fs.DirEntry) error {
	if entry.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// module takes in one directory of a package.
func (r *foreignReader) module(ctx context.Context, dir string) error {
	if r.found.Whole != "" {
		return nil
	}
	entries, err := fs.ReadDir(r.files, dir)
	if err != nil {
		return r.settle(ctx, dir, err)
	}
	config := map[string][]byte{}
	for _, entry := range entries {
		if !module.IsConfigFile(entry.Name()) || entry.IsDir() {
			continue
		}
		text, err := r.read(path.Join(dir, entry.Name()))
		if err != nil {
			return r.settle(ctx, dir, err)
		}
		config[entry.Name()] = text
	}
	reads := module.ReadForeign(r.name(dir), config)
	for _, what := range reads.World {
		r.world(what)
	}
	if reads.Whole != "" {
		r.whole("%s", reads.Whole)
	}
	for _, name := range reads.Templates {
		r.template(path.Join(dir, name))
	}
	if !reads.Files {
		return nil
	}
	return r.settle(ctx, dir, r.beside(ctx, dir))
}

// template takes in a file that a module renders.
func (r *foreignReader) template(name string) {
	if r.found.Whole != "" {
		return
	}
	text, err := r.read(name)
	reads := module.ReadText(text)
	if err != nil || reads.Leaves || reads.Files {
		r.whole("the template %s may read any file, or cannot be looked into", r.name(name))
	}
	if reads.World {
		r.world("the template " + r.name(name))
	}
}

// beside looks at the files in a module's directory, and below, that it may read or hand to a provider.
func (r *foreignReader) beside(ctx context.Context, dir string) error {
	return fs.WalkDir(r.files, dir, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || ctx.Err() != nil:
			return cmp.Or(context.Cause(ctx), err)
		case entry.Name() == ".git" && name != dir:
			return skip(entry)
		case entry.IsDir() || module.ForPeople(name) || path.Dir(name) == dir && module.IsConfigFile(name):
			return nil
		}
		text, err := r.read(name)
		if err != nil {
			return err
		}
		if utf8.Valid(text) && module.LeavesDirectory(string(text)) {
			r.whole("%s may refer to other files", r.name(name))
			return fs.SkipAll
		}
		return nil
	})
}

var errTooMuch = errors.New("it is too large to be looked into")

// read reads a file. Of a large one that is no text nothing is returned.
func (r *foreignReader) read(name string) ([]byte, error) {
	file, err := r.files.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%s is no file", r.name(name)), err)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxForeignFile+1))
	r.bytes += int64(len(text))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxForeignFile && bytes.IndexByte(text, 0) >= 0:
		return nil, nil
	case len(text) > maxForeignFile || r.bytes > maxForeignBytes:
		return nil, fmt.Errorf("%s: %w", r.name(name), errTooMuch)
	}
	return text, nil
}

// settle takes a module that cannot be looked into for one that reads everything. Only the end of the run is an error.
func (r *foreignReader) settle(ctx context.Context, dir string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		r.whole("%s cannot be looked into: %v", r.name(dir), err)
	}
	return nil
}

// tellModules says in the result what is known of the modules from elsewhere, if they are still those that were looked into.
func (s *Step) tellModules() {
	known := s.site.Space.Record.Known
	if known != nil && known.List != listedModules(s.site.Space) {
		known = nil
	}
	s.site.Space.Record.Known = known
	if known == nil {
		s.run.Result.Modules = nil
		return
	}
	told := known.Modules
	told.Moves, told.Whole, told.World = s.run.Mask.Text(told.Moves), s.run.Mask.Text(told.Whole), slices.Clone(told.World)
	for i := range told.World {
		told.World[i] = s.run.Mask.Text(told.World[i])
	}
	s.run.Result.Modules = &told
}

// listedModules is the digest of the tool's list of modules, in whatever order; empty when there is none.
func listedModules(w *workspace.Workspace) string {
	text, err := w.Read(w.InModule(workspace.ManifestTF), fetch.MaxModuleList)
	var list fetch.ModuleList
	if err != nil || json.Unmarshal(text, &list) != nil {
		return ""
	}
	return list.Digest()
}
