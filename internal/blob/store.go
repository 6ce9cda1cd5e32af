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
	"strings"
	"time"

	"filippo.io/age"
)

// recipientKey is the store's own object, in clear text, with the public key that the store is
// encrypted for.
const recipientKey = ".recipient"

// Store keeps encrypted blobs. It is safe for concurrent use.
type Store struct {
	bucket   bucket
	identity *age.X25519Identity
	uses     uses
}

// Info describes a blob.
type Info struct {
	Key string
	// Size is the size in the store: the content and about 200 bytes of encryption header.
	Size int64
	// Modified is when the blob was last written.
	Modified time.Time
}

// bucket stores encrypted bytes: a directory or a cloud bucket. Its keys are validated already.
type bucket interface {
	// write stores what fill writes, completely or not at all. When it returns nil the bytes are
	// durable.
	write(ctx context.Context, key string, fill func(io.Writer) error) error
	// create is write, but returns ErrExists if an object has the key.
	create(ctx context.Context, key string, fill func(io.Writer) error) error
	// open returns ErrNotFound if no object has the key.
	open(ctx context.Context, key string) (io.ReadCloser, error)
	// stat returns ErrNotFound if no object has the key.
	stat(ctx context.Context, key string) (Info, error)
	// remove succeeds if no object has the key.
	remove(ctx context.Context, key string) error
	// list yields the objects whose keys start with prefix, in byte order. It may miss objects that
	// are created or deleted meanwhile.
	list(ctx context.Context, prefix string) iter.Seq2[Info, error]
	// folders yields, for keys that start with the prefix, which ends in a slash, the part up to
	// and including the next slash.
	folders(ctx context.Context, prefix string) iter.Seq2[string, error]
	// spool is a local directory for temporary files, "" for the system's.
	spool() string
	close() error
}

// Open opens the store at a URL: file:///DIR (created if missing), s3://, gs://, azblob:// with the
// parameters of gocloud.dev/blob, or mem:// for tests. The identity encrypts and decrypts blobs.
func Open(ctx context.Context, rawURL string, identity *age.X25519Identity) (*Store, error) {
	if identity == nil {
		return nil, errors.New("open the blob store: no key; this is a bug in Yuba")
	}
	b, name, err := openBucket(ctx, rawURL)
	if err != nil {
		return nil, err
	}
	s := &Store{bucket: b, identity: identity}
	if err := s.checkRecipient(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open the blob store %s: %w", name, err), b.close())
	}
	return s, nil
}

// checkRecipient refuses a key other than the one the store is encrypted for, and records the first
// one.
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
		return fmt.Errorf("it is encrypted for %s, but the given key is for %s.\nRestore the key file that belongs to this store", its, mine)
	}
	return nil
}

// ID identifies the store for its whole life. Only its copies are encrypted for the same recipient.
func (s *Store) ID() string {
	sum := sha256.Sum256([]byte(s.identity.Recipient().String()))
	return hex.EncodeToString(sum[:8])
}

// Close releases the store. Blobs that are being read stay readable.
func (s *Store) Close() error { return s.bucket.close() }

// Put stores the content of r under key, replacing a previous blob atomically. If r fails, ctx ends
// or the disk is full, the previous blob remains.
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

// Create stores data under a new key. It returns ErrExists, and changes nothing, if a blob has the
// key. When it returns nil the blob is durable.
func (s *Store) Create(ctx context.Context, key string, data []byte) error {
	if err := ValidateKey(key); err != nil {
		return err
	}
	err := s.bucket.create(ctx, key, func(w io.Writer) error { return s.seal(w, contextReader{ctx, bytes.NewReader(data)}) })
	if err != nil {
		return fmt.Errorf("create %s: %w", key, err)
	}
	return nil
}

// PutBytes stores data under key, as Put does.
func (s *Store) PutBytes(ctx context.Context, key string, data []byte) error {
	return s.Put(ctx, key, bytes.NewReader(data))
}

// Open returns the content of a blob, or ErrNotFound. Bytes are authenticated before they are
// returned. Read reports damage and truncation, so rely on the content only after io.EOF.
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

// Get returns the content of a blob of at most limit bytes, else a *TooLargeError.
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

// Stat describes a blob; it returns ErrNotFound if there is none.
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

// Exists reports whether a blob has the key.
func (s *Store) Exists(ctx context.Context, key string) (bool, error) {
	_, err := s.Stat(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Delete deletes a blob. It succeeds if the blob does not exist.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := ValidateKey(key); err != nil {
		return err
	}
	if err := s.bucket.remove(ctx, key); err != nil {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	return nil
}

// List yields the blobs whose keys start with prefix, in byte order. It ends after the first error.
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

// seal encrypts r to w. age writes its header in small pieces; the buffer joins them.
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

// unsealed reads a blob's content and closes the encrypted reader under it.
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

// source records errors of reading the encrypted bytes, to distinguish a broken connection from a
// damaged blob.
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

// contextReader fails once its context has ended.
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
