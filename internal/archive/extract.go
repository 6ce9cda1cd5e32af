// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Extract extracts an archive to dest, whose parent must exist, and replaces dest once the digest
// is verified. Only one extraction to dest may run: each removes the remains of an interrupted one.
func Extract(ctx context.Context, r io.Reader, dest string, limits Limits, digest string) (Manifest, error) {
	return ExtractPart(ctx, r, dest, limits, digest, nil)
}

// ExtractPart is Extract for the entries whose names keep accepts; nil accepts all. It still reads
// the whole archive and checks limits and digest.
func ExtractPart(ctx context.Context, r io.Reader, dest string, limits Limits, digest string, keep func(name string) bool) (Manifest, error) {
	manifest, err := replace(dest, func(fresh string) (Manifest, error) {
		return extractInto(ctx, r, fresh, limits, digest, keep)
	})
	if err != nil {
		return Manifest{}, fmt.Errorf("extract to %s: %w", dest, err)
	}
	manifest.Digest = digest
	return manifest, nil
}

// replace creates a tree beside dest and moves it there once it is complete.
func replace(dest string, makeTree func(fresh string) (Manifest, error)) (Manifest, error) {
	if err := clearAway(dest); err != nil {
		return Manifest{}, err
	}
	temp, err := os.MkdirTemp(filepath.Dir(dest), "."+filepath.Base(dest)+".extract-")
	if err != nil {
		return Manifest{}, err
	}
	defer os.RemoveAll(temp)
	tree := filepath.Join(temp, "tree")
	manifest, err := makeTree(tree)
	if err != nil {
		return Manifest{}, err
	}
	if err := os.Rename(dest, filepath.Join(temp, "old")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return Manifest{}, err
	}
	if err := os.Rename(tree, dest); err != nil {
		return Manifest{}, errors.Join(err, os.Rename(filepath.Join(temp, "old"), dest))
	}
	return manifest, nil
}

func clearAway(dest string) error {
	entries, err := os.ReadDir(filepath.Dir(dest))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), "."+filepath.Base(dest)+".extract-") {
			err = errors.Join(err, os.RemoveAll(filepath.Join(filepath.Dir(dest), entry.Name())))
		}
	}
	return err
}

func extractInto(ctx context.Context, r io.Reader, tree string, limits Limits, digest string, keep func(name string) bool) (Manifest, error) {
	w, err := newWriter(tree)
	if err != nil {
		return Manifest{}, err
	}
	defer w.root.Close()
	w.keep = keep
	if err := read(ctx, r, limits, digest, w.write); err != nil {
		return Manifest{}, err
	}
	return Scan(tree, nil, 0)
}

// writer writes entries below a root that it cannot leave.
type writer struct {
	root   *os.Root
	keep   func(name string) bool
	dirs   map[string]bool
	buffer []byte
}

// newWriter creates the root.
func newWriter(tree string) (*writer, error) {
	if err := os.Mkdir(tree, 0o755); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(tree)
	if err != nil {
		return nil, err
	}
	return &writer{root: root, dirs: map[string]bool{".": true}, buffer: make([]byte, 64<<10)}, nil
}

func (w *writer) write(e entry) error {
	if w.keep != nil && !w.keep(e.name) {
		return nil
	}
	local := filepath.FromSlash(e.name)
	if e.kind == isDir {
		return w.mkdir(e.name)
	}
	if err := w.mkdir(path.Dir(e.name)); err != nil {
		return err
	}
	if e.kind == isLink {
		return w.root.Symlink(filepath.FromSlash(e.target), local)
	}
	mode := os.FileMode(0o644)
	if e.executable {
		mode = 0o755
	}
	f, err := w.root.OpenFile(local, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if file, ok := e.content.(*os.File); ok { // lets the kernel copy, or the file system share the data
		_, err = f.ReadFrom(file)
	} else {
		_, err = io.CopyBuffer(struct{ io.Writer }{f}, e.content, w.buffer)
	}
	return errors.Join(err, f.Close())
}

// mkdir creates a directory and its parents, each once.
func (w *writer) mkdir(name string) error {
	if w.dirs[name] {
		return nil
	}
	if err := w.mkdir(path.Dir(name)); err != nil {
		return err
	}
	w.dirs[name] = true
	return w.root.Mkdir(filepath.FromSlash(name), 0o755)
}

// Files reads the files of an archive whose names keep accept, without a directory. It follows
// links to such files. maxBytes limits their total size.
func Files(ctx context.Context, r io.Reader, limits Limits, digest string, maxBytes int64, keep func(name string) bool) (map[string][]byte, error) {
	files, links := map[string][]byte{}, map[string]string{}
	left := maxBytes
	err := read(ctx, r, limits, digest, func(e entry) error {
		if e.kind == isDir || !keep(e.name) {
			return nil
		}
		if e.kind == isLink {
			links[e.name] = path.Join(path.Dir(e.name), e.target)
			return nil
		}
		var content bytes.Buffer
		n, err := io.Copy(&content, io.LimitReader(e.content, left+1))
		if left -= n; err == nil && left < 0 {
			err = &LimitError{"the size of the files read in bytes", maxBytes}
		}
		files[e.name] = content.Bytes()
		return err
	})
	if err != nil {
		return nil, err
	}
	follow(files, links)
	return files, nil
}

// follow gives links the content of their targets, if those were kept.
func follow(files map[string][]byte, links map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(links)) {
		target := links[name]
		for range 40 { // Linux follows 40 links, too
			next, isLink := links[target]
			if !isLink {
				break
			}
			target = next
		}
		if content, ok := files[target]; ok {
			files[name] = content
		}
	}
}
