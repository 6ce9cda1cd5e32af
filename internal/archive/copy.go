// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// CopyPart makes dest a copy of the named directories and files of another tree, as ExtractPart
// does. It ignores missing names. Extract must have created the tree, and nothing may write to it.
func CopyPart(ctx context.Context, tree, dest string, names []string) (Manifest, error) {
	manifest, err := replace(dest, func(fresh string) (Manifest, error) { return copyInto(ctx, tree, fresh, names) })
	if err != nil {
		return Manifest{}, fmt.Errorf("copy to %s: %w", dest, err)
	}
	return manifest, nil
}

func copyInto(ctx context.Context, tree, fresh string, names []string) (Manifest, error) {
	from, err := os.OpenRoot(tree)
	if err != nil {
		return Manifest{}, err
	}
	defer from.Close()
	w, err := newWriter(fresh)
	if err != nil {
		return Manifest{}, err
	}
	defer w.root.Close()
	for _, name := range outermost(names) {
		if !fs.ValidPath(name) {
			return Manifest{}, &EntryError{Name: name, Reason: "it is not a valid name in a source"}
		}
		err := fs.WalkDir(from.FS(), name, func(at string, entry fs.DirEntry, err error) error {
			if err := errors.Join(err, ctx.Err()); err != nil {
				return err
			}
			return w.copy(from, at, entry)
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Manifest{}, err
		}
	}
	return Scan(fresh, nil, 0)
}

// outermost drops names that are below other names.
func outermost(names []string) []string {
	var out []string
	for _, name := range slices.Sorted(slices.Values(names)) {
		if !slices.ContainsFunc(out, func(outer string) bool {
			return outer == "." || name == outer || strings.HasPrefix(name, outer+"/")
		}) {
			out = append(out, name)
		}
	}
	return out
}

// copy copies an entry of another tree.
func (w *writer) copy(from *os.Root, name string, found fs.DirEntry) error {
	local := filepath.FromSlash(name)
	switch {
	case found.IsDir():
		return w.write(entry{name: name, kind: isDir})
	case found.Type()&fs.ModeSymlink != 0:
		target, err := from.Readlink(local)
		if err != nil {
			return err
		}
		return w.write(entry{name: name, kind: isLink, target: filepath.ToSlash(target)})
	}
	info, err := found.Info()
	if err != nil {
		return err
	}
	file, err := from.Open(local)
	if err != nil {
		return err
	}
	defer file.Close()
	return w.write(entry{name: name, kind: isFile, executable: info.Mode()&0o100 != 0, content: file})
}
