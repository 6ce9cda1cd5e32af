// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package blob

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// temporary holds files while they are written; a crash leaves them there.
	temporary = ".tmp"
	// abandoned is the age at which a temporary file counts as left by a crash: no write takes that
	// long.
	abandoned = 24 * time.Hour
)

// directory is a bucket of files. The os.Root keeps every access inside it, including symbolic
// links.
type directory struct {
	root *os.Root
	// parents excludes creating parent directories while empty ones are removed.
	parents sync.RWMutex
}

func openDirectory(u *url.URL) (*directory, error) {
	for parameter := range u.Query() {
		if parameter != "create_dir" && parameter != "metadata" {
			return nil, fmt.Errorf("unknown parameter %q", parameter)
		}
	}
	if u.Host != "" && u.Host != "localhost" || !filepath.IsAbs(u.Path) {
		return nil, errors.New("expected an absolute path after three slashes: file:///path/to/blobs")
	}
	if err := os.MkdirAll(u.Path, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(u.Path)
	if err != nil {
		return nil, err
	}
	d := &directory{root: root}
	if err := d.makeDirectory(temporary); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	if err := d.sweep(time.Now().Add(-abandoned)); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return d, nil
}

// sweep removes temporary files last written before a time.
func (d *directory) sweep(before time.Time) error {
	entries, err := fs.ReadDir(d.root.FS(), temporary)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || info.ModTime().After(before) {
			continue // removed, or still being written
		}
		if err := d.root.Remove(path.Join(temporary, entry.Name())); err != nil && !missing(err) {
			return err
		}
	}
	return nil
}

func (d *directory) write(ctx context.Context, key string, fill func(io.Writer) error) error {
	return d.fill(ctx, key, fill, d.root.Rename)
}

func (d *directory) create(ctx context.Context, key string, fill func(io.Writer) error) error {
	return d.fill(ctx, key, fill, func(name, key string) error {
		err := d.root.Link(name, key)
		if errors.Is(err, fs.ErrExist) {
			return ErrExists
		}
		return errors.Join(err, d.root.Remove(name))
	})
}

// fill writes a temporary file and moves it to its key.
func (d *directory) fill(ctx context.Context, key string, fill func(io.Writer) error, move func(name, key string) error) (err error) {
	name := path.Join(temporary, rand.Text())
	file, err := d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = d.root.Remove(name)
		}
	}()
	err = fill(file)
	if err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return d.publish(name, key, move)
}

// publish moves a synced file to its key, durably.
func (d *directory) publish(name, key string, move func(name, key string) error) error {
	d.parents.RLock()
	defer d.parents.RUnlock()
	if err := d.makeDirectory(path.Dir(key)); err != nil {
		return err
	}
	if err := move(name, key); err != nil {
		return err
	}
	return syncDirectory(d.root.Open(path.Dir(key)))
}

// makeDirectory creates a directory and its parents durably: otherwise a power cut can lose the
// directory of a synced file.
func (d *directory) makeDirectory(dir string) error {
	if info, err := d.root.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	parent := path.Dir(dir)
	if err := d.makeDirectory(parent); err != nil {
		return err
	}
	if err := d.root.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDirectory(d.root.Open(parent))
}

func (d *directory) open(_ context.Context, key string) (io.ReadCloser, error) {
	file, err := d.root.Open(key)
	if err != nil {
		return nil, fileError(err)
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = ErrNotFound
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

func (d *directory) stat(_ context.Context, key string) (Info, error) {
	info, err := d.root.Stat(key)
	if err != nil {
		return Info{}, fileError(err)
	}
	if info.IsDir() {
		return Info{}, ErrNotFound
	}
	return Info{Key: key, Size: info.Size(), Modified: info.ModTime()}, nil
}

func (d *directory) remove(ctx context.Context, key string) error {
	if _, err := d.stat(ctx, key); err != nil {
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		return err
	}
	if err := d.root.Remove(key); err != nil && !missing(err) {
		return err
	}
	d.parents.Lock()
	defer d.parents.Unlock()
	for dir := path.Dir(key); dir != "."; dir = path.Dir(dir) {
		if d.root.Remove(dir) != nil {
			break // not empty
		}
	}
	return nil
}

func (d *directory) list(ctx context.Context, prefix string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		dir := "."
		if i := strings.LastIndex(prefix, "/"); i >= 0 {
			dir = prefix[:i]
		}
		d.walk(ctx, dir, prefix, yield)
	}
}

// walk yields the files below dir whose paths start with prefix, and returns whether to continue.
func (d *directory) walk(ctx context.Context, dir, prefix string, yield func(Info, error) bool) bool {
	if ctx.Err() != nil {
		return yield(Info{}, context.Cause(ctx)) && false
	}
	entries, err := fs.ReadDir(d.root.FS(), dir)
	if missing(err) {
		return true
	}
	if err != nil {
		return yield(Info{}, err) && false
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(sortName(a), sortName(b)) })
	for _, entry := range entries {
		name := path.Join(dir, entry.Name())
		if entry.IsDir() {
			name += "/"
		}
		if !strings.HasPrefix(name, prefix) && !strings.HasPrefix(prefix, name) || hidden(name) {
			continue
		}
		if !d.visit(ctx, name, prefix, entry, yield) {
			return false
		}
	}
	return true
}

func (d *directory) visit(ctx context.Context, name, prefix string, entry fs.DirEntry, yield func(Info, error) bool) bool {
	if entry.IsDir() {
		return d.walk(ctx, strings.TrimSuffix(name, "/"), prefix, yield)
	}
	if !strings.HasPrefix(name, prefix) {
		return true
	}
	info, err := entry.Info()
	if missing(err) {
		return true
	}
	if err != nil {
		return yield(Info{}, err) && false
	}
	return yield(Info{Key: name, Size: info.Size(), Modified: info.ModTime()}, nil)
}

// sortName makes names sort as keys do: "a/…" comes after "a-b".
func sortName(entry fs.DirEntry) string {
	if entry.IsDir() {
		return entry.Name() + "/"
	}
	return entry.Name()
}

func (d *directory) spool() string { return filepath.Join(d.root.Name(), temporary) }

func (d *directory) close() error { return d.root.Close() }

func fileError(err error) error {
	if missing(err) {
		return ErrNotFound
	}
	return err
}

// missing is also true if a parent of the path is a file.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
