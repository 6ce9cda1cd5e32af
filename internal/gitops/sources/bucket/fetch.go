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
	"sync"

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
	defer root.Close() //nolint:errcheck // nothing is written through it any more
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
		return fmt.Errorf("fetch the bucket '%s': %w", t.wanted.Name, err) // of this machine, not of the bucket
	case errors.As(err, &failed):
		return t.wanted.failure(fmt.Sprintf("fetch the object %q of", shorten(failed.key)), failed.error)
	}
	return t.wanted.failure("fetch", err)
}

// objectError says which object failed.
type objectError struct {
	key string
	error
}

func (e *objectError) Unwrap() error { return e.error }

// download is a fetch under way.
type download struct {
	store store
	root  *os.Root
}

// all downloads objects, many at a time, and stops at the first that fails.
func (d *download) all(ctx context.Context, objects []object) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var workers sync.WaitGroup
	queue := make(chan object)
	for range min(atATime, len(objects)) {
		workers.Go(func() {
			for o := range queue {
				if err := d.one(ctx, o); err != nil {
					stop(&objectError{o.key, err})
				}
			}
		})
	}
feed:
	for _, o := range objects {
		if belongsToOthers(o.key) {
			continue
		}
		select {
		case queue <- o:
		case <-ctx.Done():
			break feed
		}
	}
	close(queue)
	workers.Wait()
	return context.Cause(ctx)
}

// belongsToOthers reports whether a file is never packed, so it need not be downloaded: states
// contain secrets.
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

// trimETag takes the quotes away that HTTP has and lists do not always have.
func trimETag(etag string) string { return strings.Trim(etag, `"`) }
