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

// outageError marks a failure of the blob store itself. It says nothing about the bytes that were asked for.
type outageError struct{ err error }

func (e *outageError) Error() string { return e.err.Error() }
func (e *outageError) Unwrap() error { return e.err }

// openBlob opens a blob. Errors of the store are marked, those of the blob (it is not there, its seal is broken) are not.
func (s *Store) openBlob(ctx context.Context, key string) (io.ReadCloser, error) {
	content, err := s.blobs.Open(ctx, key)
	if err != nil {
		return nil, markOutage(err)
	}
	return &marking{content}, nil
}

// marking marks the errors of the store that come up while a blob is read.
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

// unreadable is a *CorruptError when we have read the bytes and they are not a state, and the outage when we could not.
func unreadable(key Key, where string, err error) error {
	var outage *outageError
	if errors.As(err, &outage) {
		return fmt.Errorf("read the state of %s: %s: the blob store does not answer as it should; nothing is known to be damaged: %w", key, where, err)
	}
	return &CorruptError{Key: key, Where: where, Err: err}
}
