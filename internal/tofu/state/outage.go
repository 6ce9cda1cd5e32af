// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/yuba-dev/yuba/internal/blob"
)

// outageError marks a failure of the blob store itself, as opposed to damaged content.
type outageError struct{ err error }

func (e *outageError) Error() string { return e.err.Error() }
func (e *outageError) Unwrap() error { return e.err }

// openBlob opens a blob. It marks errors of the store, but not those of the blob (missing, or
// undecryptable).
func (s *Store) openBlob(ctx context.Context, key string) (io.ReadCloser, error) {
	content, err := s.blobs.Open(ctx, key)
	if err != nil {
		return nil, markOutage(err)
	}
	return &marking{content}, nil
}

// marking marks errors of the store while a blob is read.
type marking struct{ io.ReadCloser }

func (m *marking) Read(p []byte) (int, error) {
	n, err := m.ReadCloser.Read(p)
	return n, markOutage(err)
}

func markOutage(err error) error {
	var broken *blob.SealError
	if err == nil || err == io.EOF || errors.Is(err, blob.ErrNotFound) || errors.As(err, &broken) {
		return err
	}
	return &outageError{err}
}

// unreadable returns a *CorruptError if the bytes were read and are not a state, and the outage if
// they could not be read.
func unreadable(key Key, where string, err error) error {
	var outage *outageError
	if errors.As(err, &outage) {
		return fmt.Errorf("read the state of %s: %s: the blob store does not work; the state need not be damaged: %w", key, where, err)
	}
	return &CorruptError{Key: key, Where: where, Err: err}
}
