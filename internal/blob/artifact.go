// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package blob

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"strings"
	"time"
)

const digestPrefix = "sha256:"

// ArtifactKey returns the key of the artifact with a digest ("sha256:" and 64 lower-case hex
// digits).
func ArtifactKey(digest string) (string, error) {
	sum, ok := strings.CutPrefix(digest, digestPrefix)
	decoded, err := hex.DecodeString(sum)
	if !ok || err != nil || len(decoded) != sha256.Size || sum != strings.ToLower(sum) {
		return "", fmt.Errorf("artifact digest %q is not \"sha256:\" and 64 hex digits", digest)
	}
	return artifactPrefix + sum, nil
}

// PutArtifact stores the content of r, at most limit bytes, and returns its digest and size.
// Storing existing content changes nothing, unless it is damaged: then it is repaired.
func (s *Store) PutArtifact(ctx context.Context, r io.Reader, limit int64) (digest string, size int64, err error) {
	spooled, err := os.CreateTemp(s.bucket.spool(), "artifact-*")
	if err != nil {
		return "", 0, fmt.Errorf("store an artifact: %w", err)
	}
	defer func() {
		_ = spooled.Close()
		_ = os.Remove(spooled.Name())
	}()
	// The temporary file is encrypted already: an artifact is never on disk in clear text.
	counted := &measured{Reader: io.LimitReader(contextReader{ctx, r}, limit+1), sum: sha256.New()}
	if err := s.seal(spooled, counted); err != nil {
		return "", 0, fmt.Errorf("store an artifact: %w", err)
	}
	if counted.size > limit {
		return "", 0, fmt.Errorf("store an artifact: %w", &TooLargeError{Key: "artifact", Limit: limit})
	}
	digest = counted.digest()
	s.uses.use(digest, time.Now())
	if s.VerifyArtifact(ctx, digest) == nil {
		return digest, counted.size, nil
	}
	key, err := ArtifactKey(digest)
	if err != nil {
		return "", 0, err
	}
	err = s.bucket.write(ctx, key, func(w io.Writer) error {
		if _, err := spooled.Seek(0, io.SeekStart); err != nil {
			return err
		}
		_, err := io.Copy(w, bufio.NewReader(spooled))
		return err
	})
	if err != nil {
		return "", 0, fmt.Errorf("store %s: %w", key, err)
	}
	return digest, counted.size, nil
}

// OpenArtifact returns the content of the artifact with a digest, or ErrNotFound. If the content
// does not match the digest, the last Read returns a *DigestError instead of io.EOF.
func (s *Store) OpenArtifact(ctx context.Context, digest string) (io.ReadCloser, error) {
	key, err := ArtifactKey(digest)
	if err != nil {
		return nil, err
	}
	s.uses.use(digest, time.Now())
	content, err := s.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	return &verified{measured: measured{Reader: content, sum: sha256.New()}, want: digest, Closer: content}, nil
}

// VerifyArtifact reads the artifact with a digest to its end and returns nil if it matches.
func (s *Store) VerifyArtifact(ctx context.Context, digest string) error {
	r, err := s.OpenArtifact(ctx, digest)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, r)
	return errors.Join(err, r.Close())
}

// measured counts and hashes what is read through it.
type measured struct {
	io.Reader
	sum  hash.Hash
	size int64
}

func (m *measured) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	m.sum.Write(p[:n])
	m.size += int64(n)
	return n, err
}

func (m *measured) digest() string { return digestPrefix + hex.EncodeToString(m.sum.Sum(nil)) }

// verified returns an error at the end of content with another digest.
type verified struct {
	measured
	io.Closer
	want string
}

func (v *verified) Read(p []byte) (int, error) {
	n, err := v.measured.Read(p)
	if err == io.EOF && v.digest() != v.want {
		err = &DigestError{Want: v.want, Got: v.digest()}
	}
	return n, err
}

// HasArtifact reports whether an artifact with a digest exists, without reading it.
func (s *Store) HasArtifact(ctx context.Context, digest string) (bool, error) {
	key, err := ArtifactKey(digest)
	if err != nil {
		return false, err
	}
	s.uses.use(digest, time.Now())
	return s.Exists(ctx, key)
}
