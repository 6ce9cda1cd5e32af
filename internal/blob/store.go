// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package blob

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"strings"
	"time"

	"filippo.io/age"
)

// recipientKey names the store's own object that says, in the clear, for which public key the store is sealed.
const recipientKey = ".recipient"

// Store keeps sealed blobs. Its methods may be called at the same time from anywhere.
type Store struct {
	bucket   bucket
	identity *age.X25519Identity
	uses     uses
}

// Info describes a blob.
type Info struct {
	Key string
	// Size is what the blob takes in the store: its content and some 200 bytes of seal.
	Size int64
	// Modified is when the blob was written last.
	Modified time.Time
}

// bucket is a place for sealed bytes: a directory or a cloud's bucket. Keys are checked before they come here.
type bucket interface {
	// write stores what fill writes, whole or not at all; when it returns nil the bytes are durable.
	write(ctx context.Context, key string, fill func(io.Writer) error) error
	// open returns ErrNotFound when no object has the key.
	open(ctx context.Context, key string) (io.ReadCloser, error)
	// stat returns ErrNotFound when no object has the key.
	stat(ctx context.Context, key string) (Info, error)
	// remove succeeds when no object has the key.
	remove(ctx context.Context, key string) error
	// list yields the objects whose key starts with prefix in byte order; objects that come or go meanwhile may
	// or may not be among them.
	list(ctx context.Context, prefix string) iter.Seq2[Info, error]
	// folders yields what keys that start with the prefix, which ends in a slash, have up to the next slash, with it.
	folders(ctx context.Context, prefix string) iter.Seq2[string, error]
	// spool is a local directory for temporary files, "" for the system's.
	spool() string
	close() error
}

// Open opens the store at a URL: file:///DIR (made if absent), s3://, gs://, azblob:// with the parameters of
// gocloud.dev/blob, or mem:// for tests. Blobs are sealed for, and opened with, the identity.
func Open(ctx context.Context, rawURL string, identity *age.X25519Identity) (*Store, error) {
	if identity == nil {
		return nil, errors.New("open the blob store: no key; this is a bug in Yuba")
	}
	u, err := url.Parse(rawURL)
	if err != nil {
		// The parser quotes the whole URL, which may hold a password; its cause is enough.
		return nil, fmt.Errorf("open the blob store: its URL cannot be read: %w", errors.Unwrap(err))
	}
	var b bucket
	if u.Scheme == "file" {
		b, err = openDirectory(u)
	} else {
		b, err = openCloud(ctx, rawURL)
	}
	if err != nil {
		return nil, fmt.Errorf("open the blob store %s: %w", u.Redacted(), err)
	}
	s := &Store{bucket: b, identity: identity}
	if err := s.checkRecipient(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open the blob store %s: %w", u.Redacted(), err), b.close())
	}
	return s, nil
}

// checkRecipient refuses a key other than the one that sealed the store, and records the first one.
func (s *Store) checkRecipient(ctx context.Context) error {
	mine := s.identity.Recipient().String()
	r, err := s.bucket.open(ctx, recipientKey)
	if errors.Is(err, ErrNotFound) {
		return s.bucket.write(ctx, recipientKey, func(w io.Writer) error {
			_, err := io.WriteString(w, mine+"\n")
			return err
		})
	}
	if err != nil {
		return err
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, maxKey))
	if err != nil {
		return err
	}
	if its := strings.TrimSpace(string(text)); its != mine {
		return fmt.Errorf("it is sealed for %s, the given key opens %s.\nRestore the key file that belongs to this store", its, mine)
	}
	return nil
}

// ID names the store for as long as it lives: no other store is sealed for the same recipient, but copies of this one.
func (s *Store) ID() string {
	sum := sha256.Sum256([]byte(s.identity.Recipient().String()))
	return hex.EncodeToString(sum[:8])
}

// Close releases the store; blobs being read stay readable.
func (s *Store) Close() error { return s.bucket.close() }

// Put stores everything r yields under key, replacing what was there in one step. When r fails, ctx ends or the disk
// is full, what was there before is still there.
func (s *Store) Put(ctx context.Context, key string, r io.Reader) error {
	if err := ValidateKey(key); err != nil {
		return err
	}
	err := s.bucket.write(ctx, key, func(w io.Writer) error { return s.seal(w, contextReader{ctx, r}) })
	if err != nil {
		return fmt.Errorf("store %s: %w", key, err)
	}
	return nil
}

// PutBytes stores data under key, as Put does.
func (s *Store) PutBytes(ctx context.Context, key string, data []byte) error {
	return s.Put(ctx, key, bytes.NewReader(data))
}

// Open returns the content of a blob; ErrNotFound when there is none. Bytes are authenticated before they are
// returned; damage further on, or a cut, is an error of Read, so content counts only once Read said io.EOF.
func (s *Store) Open(ctx context.Context, key string) (io.ReadCloser, error) {
	if err := ValidateKey(key); err != nil {
		return nil, err
	}
	sealed, err := s.bucket.open(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	source := &source{ReadCloser: sealed}
	content, err := age.Decrypt(source, s.identity)
	if err != nil {
		return nil, errors.Join(source.explain(key, err), sealed.Close())
	}
	return &unsealed{key: key, content: content, source: source}, nil
}

// Get returns the content of a blob that is at most limit bytes long, else a *TooLargeError.
func (s *Store) Get(ctx context.Context, key string, limit int64) ([]byte, error) {
	r, err := s.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("read %s: %w", key, &TooLargeError{Key: key, Limit: limit})
	}
	return data, nil
}

// Stat describes a blob; ErrNotFound when there is none.
func (s *Store) Stat(ctx context.Context, key string) (Info, error) {
	if err := ValidateKey(key); err != nil {
		return Info{}, err
	}
	info, err := s.bucket.stat(ctx, key)
	if err != nil {
		return Info{}, fmt.Errorf("look up %s: %w", key, err)
	}
	return info, nil
}

// Exists says whether a blob has the key.
func (s *Store) Exists(ctx context.Context, key string) (bool, error) {
	_, err := s.Stat(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Delete removes a blob; one that is not there is no error.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := ValidateKey(key); err != nil {
		return err
	}
	if err := s.bucket.remove(ctx, key); err != nil {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	return nil
}

// List yields the blobs whose key starts with prefix, in byte order of their keys. It ends after the first error.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		if err := validatePrefix(prefix); err != nil {
			yield(Info{}, err)
			return
		}
		for info, err := range s.bucket.list(ctx, prefix) {
			if err != nil {
				yield(Info{}, fmt.Errorf("list %q: %w", prefix, err))
				return
			}
			if hidden(info.Key) {
				continue
			}
			if !yield(info, nil) {
				return
			}
		}
	}
}

// seal copies r to w, sealed. age writes its header in small pieces: the buffer makes them one write.
func (s *Store) seal(w io.Writer, r io.Reader) error {
	buffered := bufio.NewWriter(w)
	sealer, err := age.Encrypt(buffered, s.identity.Recipient())
	if err != nil {
		return err
	}
	if _, err := io.Copy(sealer, r); err != nil {
		return err
	}
	if err := sealer.Close(); err != nil {
		return err
	}
	return buffered.Flush()
}

// unsealed reads a blob's content and closes the sealed bytes under it.
type unsealed struct {
	key     string
	content io.Reader
	source  *source
}

func (u *unsealed) Read(p []byte) (int, error) {
	n, err := u.content.Read(p)
	if err != nil && err != io.EOF {
		err = u.source.explain(u.key, err)
	}
	return n, err
}

func (u *unsealed) Close() error { return u.source.Close() }

// source remembers that reading the sealed bytes failed, to tell a cut cable from a damaged blob.
type source struct {
	io.ReadCloser
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

func (s *source) explain(key string, err error) error {
	if s.err != nil {
		return fmt.Errorf("read %s: %w", key, s.err)
	}
	return &SealError{Key: key, Err: err}
}

// contextReader fails once its context ended.
type contextReader struct {
	ctx context.Context
	io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.Reader.Read(p)
}
