// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"strings"
	"time"
)

// Plain keeps objects that other programs read, too, so they are not encrypted. It is safe for
// concurrent use. Its keys are those of [ValidateKey].
type Plain struct {
	bucket bucket
}

// OpenPlain opens a bucket at a URL, with the same forms as [Open].
func OpenPlain(ctx context.Context, rawURL string) (*Plain, error) {
	b, _, err := openBucket(ctx, rawURL)
	if err != nil {
		return nil, err
	}
	return &Plain{bucket: b}, nil
}

// openBucket opens the bucket of a URL, and returns a name of it without passwords.
func openBucket(ctx context.Context, rawURL string) (bucket, string, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		// Report only the parser's cause: the full error quotes the URL, which may contain a
		// password.
		return nil, "", fmt.Errorf("open the blob store: its URL is invalid: %w", errors.Unwrap(err))
	}
	var b bucket
	if u.Scheme == "file" {
		b, err = openDirectory(u)
	} else {
		b, err = openCloud(ctx, rawURL)
	}
	if err != nil {
		return nil, "", fmt.Errorf("open the blob store %s: %w", u.Redacted(), err)
	}
	return b, u.Redacted(), nil
}

// Close releases the bucket. Objects that are being read stay readable.
func (p *Plain) Close() error { return p.bucket.close() }

// Put stores the content of r under key, replacing a previous object atomically. If r fails, ctx
// ends or the disk is full, the previous object remains.
func (p *Plain) Put(ctx context.Context, key string, r io.Reader) error {
	return p.write(ctx, "write", key, r, p.bucket.write)
}

// Create stores the content of r under a new key. It returns [ErrExists], and changes nothing, if an
// object has the key; of several concurrent calls, on any machine, one succeeds.
func (p *Plain) Create(ctx context.Context, key string, r io.Reader) error {
	return p.write(ctx, "create", key, r, p.bucket.create)
}

// CreateLocked is Create for an object that the store must not let anybody delete or replace before a
// time; zero for no such order. Only S3's object lock is known, in a bucket that has it.
func (p *Plain) CreateLocked(ctx context.Context, key string, r io.Reader, until time.Time) error {
	if until.IsZero() {
		return p.Create(ctx, key, r)
	}
	c, ok := p.bucket.(*cloud)
	if !ok {
		return fmt.Errorf("create %s in the bucket: only S3 can lock an object until a time", key)
	}
	return p.write(ctx, "create", key, r, func(ctx context.Context, key string, fill func(io.Writer) error) error {
		return c.createLocked(ctx, key, until, fill)
	})
}

func (p *Plain) write(ctx context.Context, verb, key string, r io.Reader, write func(context.Context, string, func(io.Writer) error) error) error {
	if err := ValidateKey(key); err != nil {
		return err
	}
	err := write(ctx, key, func(w io.Writer) error {
		_, err := io.Copy(w, contextReader{ctx, r})
		return err
	})
	if err != nil {
		return fmt.Errorf("%s %s in the bucket: %w", verb, key, err)
	}
	return nil
}

// Open returns a reader of an object, or [ErrNotFound]. In a directory it is an [io.ReadSeeker].
func (p *Plain) Open(ctx context.Context, key string) (io.ReadCloser, error) {
	if err := ValidateKey(key); err != nil {
		return nil, err
	}
	r, err := p.bucket.open(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("read %s in the bucket: %w", key, err)
	}
	return r, nil
}

// Get returns an object of at most limit bytes, a [TooLargeError] for a larger one, or
// [ErrNotFound].
func (p *Plain) Get(ctx context.Context, key string, limit int64) ([]byte, error) {
	r, err := p.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s in the bucket: %w", key, err)
	}
	if int64(len(data)) > limit {
		return nil, &TooLargeError{Limit: limit}
	}
	return data, nil
}

// Stat describes an object, or returns [ErrNotFound].
func (p *Plain) Stat(ctx context.Context, key string) (Info, error) {
	if err := ValidateKey(key); err != nil {
		return Info{}, err
	}
	info, err := p.bucket.stat(ctx, key)
	if err != nil {
		return Info{}, fmt.Errorf("look at %s in the bucket: %w", key, err)
	}
	return info, nil
}

// Delete removes an object, and succeeds if there is none.
func (p *Plain) Delete(ctx context.Context, key string) error {
	if err := ValidateKey(key); err != nil {
		return err
	}
	if err := p.bucket.remove(ctx, key); err != nil {
		return fmt.Errorf("delete %s in the bucket: %w", key, err)
	}
	return nil
}

// List yields the objects whose keys start with prefix, in byte order; see [Store.List]. It leaves
// out keys that [ValidateKey] refuses.
func (p *Plain) List(ctx context.Context, prefix string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		for info, err := range p.bucket.list(ctx, prefix) {
			if err != nil {
				yield(Info{}, fmt.Errorf("list %q in the bucket: %w", prefix, err))
				return
			}
			if strings.HasSuffix(info.Key, "/") || ValidateKey(info.Key) != nil {
				continue
			}
			if !yield(info, nil) {
				return
			}
		}
	}
}
