// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/offer"
	"github.com/yuba-dev/yuba/internal/registry/release"
)

// wrongError means that an archive in the bucket is not the one that the publisher signed.
type wrongError struct {
	what string
	err  error
}

func (e *wrongError) Error() string { return fmt.Sprintf("%s in the bucket: %v", e.what, e.err) }

func (e *wrongError) Unwrap() error { return e.err }

// checked remembers which archives this process compared with their signed sums, so that it reads
// each once more than it serves it. The zero value is ready for use.
type checked struct {
	mu       sync.Mutex
	archives map[string]check
}

// check is what an archive was when it was right.
type check struct{ version, sum string }

// maxChecked limits them: a forgotten one is checked again.
const maxChecked = 100_000

func (c *checked) any(key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, known := c.archives[key]
	return known
}

// is reports whether this version of an archive was right. An unknown version never was.
func (c *checked) is(key string, of check) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return of.version != "" && c.archives[key] == of
}

func (c *checked) note(key string, of check) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.archives == nil || len(c.archives) >= maxChecked {
		c.archives = map[string]check{}
	}
	c.archives[key] = of
}

func (c *checked) forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.archives, key)
}

// openChecked opens an archive whose content is what the publisher signed. It reads the whole archive
// when this process has not done so, or when the bucket has another version of it; otherwise opening
// is the only request to the bucket. It returns a [wrongError] for other content.
func (m *Mirror) openChecked(ctx context.Context, r *record, p layout.Platform) (io.ReadCloser, error) {
	key, sum := r.Key(r.Archive(p)), r.Packages[p].Hash("zh:")
	for range 3 {
		if m.checked.any(key) {
			content, err := m.bucket.Open(ctx, key)
			if err != nil {
				return nil, err
			}
			if m.checked.is(key, check{blob.Version(content), sum}) {
				return content, nil
			}
			if err := content.Close(); err != nil {
				return nil, err
			}
			m.checked.forget(key)
		}
		var first handover
		err := m.flights.Do(ctx, "check "+key, func(ctx context.Context) error {
			content, err := m.check(ctx, r, p)
			if err == nil {
				first.give(content)
			}
			return err
		})
		content := first.take()
		if err == nil && content != nil {
			return content, nil
		}
		if content != nil {
			err = errors.Join(err, content.Close())
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, &wrongError{fmt.Sprintf("%s for %s", r, p), errChanging}
}

var errChanging = errors.New("the archive changes again and again")

// handover passes an open file from a flight to the caller that started it, who may have left.
type handover struct {
	mu      sync.Mutex
	content io.ReadCloser
	taken   bool
}

func (h *handover) give(content io.ReadCloser) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.taken {
		content.Close() //nolint:errcheck // it was only read
		return
	}
	h.content = content
}

func (h *handover) take() io.ReadCloser {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.taken = true
	return h.content
}

// check opens an archive in the bucket, compares all of it with the signed sum, and returns it from
// its beginning.
func (m *Mirror) check(ctx context.Context, r *record, p layout.Platform) (io.ReadCloser, error) {
	key := r.Key(r.Archive(p))
	content, err := m.bucket.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	version := blob.Version(content)
	var sum string
	// A reader of a cloud's bucket can seek, too, but downloads everything again.
	if file, ok := content.(*os.File); ok {
		sum, err = release.Sum(&interruptible{ctx, file})
		if err == nil {
			_, err = file.Seek(0, io.SeekStart)
		}
		if err == nil && blob.Version(content) != version {
			err = &wrongError{fmt.Sprintf("%s for %s", r, p), errChanging}
		}
	} else {
		content, sum, err = m.copied(ctx, content)
	}
	if err == nil {
		if wrong := r.check(p, sum); wrong != nil {
			err = &wrongError{fmt.Sprintf("%s for %s", r, p), wrong}
		}
	}
	if err != nil {
		if content != nil {
			content.Close() //nolint:errcheck // it was only read
		}
		return nil, err
	}
	m.checked.note(key, check{version, sum})
	return content, nil
}

// copied copies an archive to disk, because its bucket can send it only once, and closes it. The copy
// has no name any more, and ends with its last reader.
func (m *Mirror) copied(ctx context.Context, from io.ReadCloser) (_ io.ReadCloser, sum string, err error) {
	defer from.Close() //nolint:errcheck // it was only read
	select {
	case m.downloads <- struct{}{}:
		defer func() { <-m.downloads }()
	case <-ctx.Done():
		return nil, "", context.Cause(ctx)
	}
	staged, err := m.staging.New()
	if err != nil {
		return nil, "", &offer.StoreError{What: "a copy of an archive", Err: err}
	}
	defer staged.Remove()
	path := filepath.Join(staged.Dir, "archive.zip")
	to, err := newSpool(path)
	if err != nil {
		return nil, "", &offer.StoreError{What: "a copy of an archive", Err: err}
	}
	_, err = io.Copy(to, io.LimitReader(&interruptible{ctx, from}, release.MaxArchive+1))
	if err := errors.Join(err, to.close()); err != nil {
		return nil, "", err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, "", err
	}
	return file, to.sum(), nil
}

// interruptible ends reading when nobody waits for it.
type interruptible struct {
	ctx context.Context //nolint:containedctx // of one copy
	io.Reader
}

func (i *interruptible) Read(p []byte) (int, error) {
	if i.ctx.Err() != nil {
		return 0, context.Cause(i.ctx)
	}
	return i.Reader.Read(p)
}
