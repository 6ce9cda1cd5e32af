// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"unicode/utf8"

	"github.com/yuba-dev/yuba/internal/tofu/module"
)

const (
	// maxReadFile limits one file that the reader looks into, maxReadBytes all files of a program.
	maxReadFile  = 4 << 20
	maxReadBytes = 128 << 20
	// maxWorld limits the entries of Closure.World.
	maxWorld = 10
)

// Closure describes the modules of other origins that a program calls.
type Closure struct {
	// Moves is the first call that may lead to another module next time; empty if each leads to one
	// commit or version.
	Moves string
	// Whole is why the modules may read any file of the source; empty if they read none of it.
	Whole string
	// World lists what they read of the outside world while planning.
	World []string
	// Placed is a digest of the package that each call led to.
	Placed string
}

// ClosureReader finds out what modules of other origins may read.
type ClosureReader struct {
	files fs.FS
	// root is the root module; names are relative to it.
	root  string
	bytes int64
	Found Closure
}

// NewClosureReader reads modules in a source with this root module.
func NewClosureReader(source fs.FS, root string) *ClosureReader {
	return &ClosureReader{files: source, root: root}
}

func (r *ClosureReader) whole(format string, args ...any) {
	if r.Found.Whole == "" {
		r.Found.Whole = fmt.Sprintf(format, args...)
	}
}

func (r *ClosureReader) world(what string) {
	if len(r.Found.World) < maxWorld {
		r.Found.World = append(r.Found.World, what)
	}
}

// name returns the name of a file in the result.
func (r *ClosureReader) name(file string) string {
	if relative, err := filepath.Rel(r.root, file); err == nil {
		return filepath.ToSlash(relative)
	}
	return file
}

// Package reads a package as a whole. A link may lead to files of the source.
func (r *ClosureReader) Package(ctx context.Context, pkg string) error {
	if r.Found.Whole != "" {
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

// skip leaves out a .git directory or file, which no module reads.
func skip(entry fs.DirEntry) error {
	if entry.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// Module reads one directory of a package.
func (r *ClosureReader) Module(ctx context.Context, dir string) error {
	if r.Found.Whole != "" {
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

// template reads a file that a module renders.
func (r *ClosureReader) template(name string) {
	if r.Found.Whole != "" {
		return
	}
	text, err := r.read(name)
	reads := module.ReadText(text)
	if err != nil || reads.Leaves || reads.Files {
		r.whole("the template %s may read any file, or cannot be read", r.name(name))
	}
	if reads.World {
		r.world("the template " + r.name(name))
	}
}

// beside reads the files below a module's directory, which it may read or pass to a provider.
func (r *ClosureReader) beside(ctx context.Context, dir string) error {
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

var errTooLarge = errors.New("it is too large to be read")

// read reads a file. It returns nothing for a large binary one.
func (r *ClosureReader) read(name string) ([]byte, error) {
	file, err := r.files.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%s is not a regular file", r.name(name)), err)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxReadFile+1))
	r.bytes += int64(len(text))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxReadFile && bytes.IndexByte(text, 0) >= 0:
		return nil, nil
	case len(text) > maxReadFile || r.bytes > maxReadBytes:
		return nil, fmt.Errorf("%s: %w", r.name(name), errTooLarge)
	}
	return text, nil
}

// settle treats a module that cannot be read as one that reads everything. Only the end of ctx is an error.
func (r *ClosureReader) settle(ctx context.Context, dir string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		r.whole("%s cannot be read: %v", r.name(dir), err)
	}
	return nil
}
