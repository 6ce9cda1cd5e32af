// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/yuba-dev/yuba/internal/archive"
)

// atATime is the number of concurrent downloads, enough to hide the latency of a remote store.
const atATime = 16

// content is an object that is being read.
type content struct {
	body io.ReadCloser
	etag string
}

// Fetch downloads the objects of the tree into dir, which is there and empty.
func (t *Tree) Fetch(ctx context.Context, dir string) error {
	s, err := t.wanted.open()
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("fetch the bucket '%s': %w", t.wanted.Name, err)
	}
	defer root.Close() //nolint:errcheck // no more writes go through it
	ctx, cancel := context.WithTimeout(ctx, t.wanted.Timeout)
	defer cancel()
	d := &download{store: s, root: root}
	if err := d.all(ctx, t.index.objects); err != nil {
		t.forget()
		return t.explain(err)
	}
	return nil
}

func (t *Tree) explain(err error) error {
	var failed *objectError
	var local *fs.PathError
	switch {
	case errors.As(err, &local):
		return fmt.Errorf("fetch the bucket '%s': %w", t.wanted.Name, err) // an error of this machine
	case errors.As(err, &failed):
		return t.wanted.failed(fmt.Sprintf("fetch the object %q of", shorten(failed.key)), failed.error)
	}
	return t.wanted.failed("fetch", err)
}

// objectError is the failure of one object.
type objectError struct {
	key string
	error
}

func (e *objectError) Unwrap() error { return e.error }

// download is a running fetch.
type download struct {
	store store
	root  *os.Root
}

// all downloads objects concurrently, and stops at the first failure.
func (d *download) all(ctx context.Context, objects []object) error {
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(atATime)
	for _, o := range objects {
		if running.Err() != nil {
			break
		}
		if belongsToOthers(o.key) {
			continue
		}
		group.Go(func() error {
			if err := d.one(running, o); err != nil {
				return &objectError{o.key, err}
			}
			return nil
		})
	}
	err := group.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx) // not the failure of one object
	}
	return err
}

// belongsToOthers reports whether a file, such as a state, is never packed.
func belongsToOthers(key string) bool {
	for name := key; name != "."; name = path.Dir(name) {
		if archive.NeverPacked(name) {
			return true
		}
	}
	return false
}

// one downloads an object, at most the listed size.
func (d *download) one(ctx context.Context, o object) (err error) {
	in, err := d.store.open(ctx, o)
	if err != nil {
		return err
	}
	defer in.body.Close() //nolint:errcheck // read only
	if in.etag != o.etag {
		return errChanged
	}
	local := filepath.FromSlash(o.key)
	if dir := filepath.Dir(local); dir != "." {
		if err := d.root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	out, err := d.root.OpenFile(local, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	n, err := io.Copy(out, io.LimitReader(in.body, o.size+1))
	if err == nil && n != o.size {
		err = errChanged
	}
	return err
}

// trimETag removes the quotes, which not all lists have.
func trimETag(etag string) string { return strings.Trim(etag, `"`) }
