// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package sealed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/blob"
)

// InBucket reports whether a place is an object in a bucket: s3://BUCKET/KEY?region=…, gs:// or
// azblob://. Everything else is a file.
func InBucket(place string) bool {
	scheme, _, ok := strings.Cut(place, "://")
	return ok && scheme != ""
}

// bucketOf splits a place into the bucket's URL and the key.
func bucketOf(place string) (bucket, key string, err error) {
	u, err := url.Parse(place)
	if err != nil {
		// The full error quotes the URL, which may contain a password.
		return "", "", fmt.Errorf("the URL of the archive is invalid: %w", errors.Unwrap(err))
	}
	key = strings.TrimPrefix(u.Path, "/")
	if u.Scheme == "file" {
		return "", "", errors.New("name a file by its path, without file://")
	}
	if key == "" || strings.HasSuffix(key, "/") {
		return "", "", fmt.Errorf("%s names no object: want %s://BUCKET/NAME", u.Redacted(), u.Scheme)
	}
	u.Path, u.RawPath = "", ""
	return u.String(), key, nil
}

// ErrExists means that the place of an archive is taken. Nothing was changed.
var ErrExists = errors.New("it exists already, and an archive is written once. Choose another name")

// Store writes the archive to a new file or object, and reads it back to verify it. Until is how long
// the object store must refuse to delete it (object lock); zero for no such order.
func (s *Sealed) Store(ctx context.Context, place string, until time.Time) error {
	if InBucket(place) {
		return s.storeObject(ctx, place, until)
	}
	if !until.IsZero() {
		return errors.New("a file cannot be locked until a time: write the archive to a bucket with object lock")
	}
	return s.storeFile(ctx, place)
}

// storeFile links a complete file into place: it appears whole, and replaces nothing.
func (s *Sealed) storeFile(ctx context.Context, place string) (err error) {
	if _, err := os.Lstat(place); err == nil {
		return fmt.Errorf("write %s: %w", place, ErrExists)
	}
	dir := filepath.Dir(place)
	file, err := os.CreateTemp(dir, ".yuba-archive-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", place, err)
	}
	defer func() { _ = file.Close(); _ = os.Remove(file.Name()) }()
	if _, err = io.Copy(file, &interruptible{ctx, s.Reader()}); err == nil {
		err = errors.Join(file.Chmod(0o400), file.Sync())
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", place, err)
	}
	if err := s.verified(ctx, file); err != nil {
		return fmt.Errorf("read %s back: %w", place, err)
	}
	err = os.Link(file.Name(), place)
	if errors.Is(err, fs.ErrExist) {
		err = ErrExists
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", place, err)
	}
	parent, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(parent.Sync(), parent.Close())
}

func (s *Sealed) storeObject(ctx context.Context, place string, until time.Time) error {
	url, key, err := bucketOf(place)
	if err != nil {
		return err
	}
	bucket, err := blob.OpenPlain(ctx, url)
	if err != nil {
		return err
	}
	defer bucket.Close() //nolint:errcheck // everything is written
	if err := bucket.CreateLocked(ctx, key, s.Reader(), until); err != nil {
		if errors.Is(err, blob.ErrExists) {
			err = ErrExists
		} else if !until.IsZero() {
			// Some servers store the object and refuse the lock.
			err = fmt.Errorf("%w. If the object is there nevertheless, it is not locked: delete it", err)
		}
		return fmt.Errorf("write the archive %s: %w", key, err)
	}
	file, err := download(ctx, bucket, key, "")
	if err != nil {
		return fmt.Errorf("read the archive %s back: %w", key, err)
	}
	defer file.Close() //nolint:errcheck // only read
	if err := s.verified(ctx, file); err != nil {
		return fmt.Errorf("read the archive %s back: %w", key, err)
	}
	return nil
}

// verified checks that a file is this archive, and intact.
func (s *Sealed) verified(ctx context.Context, file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	a, err := Open(file, info.Size())
	if err != nil {
		return err
	}
	if a.Header.Members[2] != s.Header.Members[2] || a.Header.Members[1] != s.Header.Members[1] {
		return bad("it is another archive")
	}
	return a.Verify(ctx)
}

// OpenPlace opens an archive in a file or bucket. Close the file after its use.
func OpenPlace(ctx context.Context, place string) (*Archive, io.Closer, error) {
	file, err := openPlace(ctx, place)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a file")
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	a, err := Open(file, info.Size())
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return a, file, nil
}

func openPlace(ctx context.Context, place string) (*os.File, error) {
	if !InBucket(place) {
		return os.Open(place)
	}
	url, key, err := bucketOf(place)
	if err != nil {
		return nil, err
	}
	bucket, err := blob.OpenPlain(ctx, url)
	if err != nil {
		return nil, err
	}
	defer bucket.Close() //nolint:errcheck // only read
	return download(ctx, bucket, key, "")
}

// download copies an object, which is encrypted, to a file without a name.
func download(ctx context.Context, bucket *blob.Plain, key, dir string) (*os.File, error) {
	object, err := bucket.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	defer object.Close() //nolint:errcheck // only read
	file, err := unnamed(dir)
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(file, &interruptible{ctx, object}); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
