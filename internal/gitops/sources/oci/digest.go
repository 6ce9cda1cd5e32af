// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"encoding/hex"
	"errors"
	"hash"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/yuba-dev/yuba/internal/archive"
)

// verifyDigest fails unless content has the digest.
func verifyDigest(content []byte, want v1.Hash) error {
	hasher, err := v1.Hasher(want.Algorithm)
	if err != nil {
		return err
	}
	hasher.Write(content)
	if got := hex.EncodeToString(hasher.Sum(nil)); got != want.Hex {
		return &archive.DigestError{Want: want.String(), Got: want.Algorithm + ":" + got}
	}
	return nil
}

// wireError is a failure of the connection, not of the content.
type wireError struct{ error }

func (e *wireError) Unwrap() error { return e.error }

// verifiedBlob reads a blob of a known size and digest. Its end is an error if it has others.
type verifiedBlob struct {
	body io.ReadCloser
	hash hash.Hash
	want v1.Hash
	left int64
}

func (b *verifiedBlob) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	b.hash.Write(p[:n])
	if b.left -= int64(n); b.left < 0 {
		return 0, errSize
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return n, &wireError{err}
	}
	if err == nil {
		return n, nil
	}
	if b.left > 0 {
		return n, errSize
	}
	if got := hex.EncodeToString(b.hash.Sum(nil)); got != b.want.Hex {
		return n, &archive.DigestError{Want: b.want.String(), Got: b.want.Algorithm + ":" + got}
	}
	return n, io.EOF
}

func (b *verifiedBlob) Close() error { return b.body.Close() }
