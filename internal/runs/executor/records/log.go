// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// compressFrom is the size from which compression is worth its memory. It saves 97 %.
const compressFrom = 64 << 10

// gzipMagic begins a compressed log. A line of JSON begins with a brace.
var gzipMagic = []byte{0x1f, 0x8b}

// PutLog stores the log of an ended run.
func (s Store) PutLog(ctx context.Context, rec run.Record, log io.Reader, size int64) error {
	if size >= compressFrom {
		packed := compress(log)
		defer packed.Close() //nolint:errcheck // it ends the compressor
		log = packed
	}
	if err := s.Blobs.Put(ctx, rec.Key(run.BlobLog), log); err != nil {
		return fmt.Errorf("keep the log of run %s of %s: %w", rec.Spec.ID, rec.Spec.Stack, err)
	}
	return nil
}

// compress returns a reader of the compressed content of r. Read it to its end or close it.
func compress(r io.Reader) io.ReadCloser {
	out, in := io.Pipe()
	go func() {
		w, err := gzip.NewWriterLevel(in, gzip.BestSpeed)
		if err == nil {
			_, err = io.Copy(w, r)
			err = errors.Join(err, w.Close())
		}
		in.CloseWithError(err)
	}()
	return out
}

// ErrDamagedLog means that a stored log can never be read.
var ErrDamagedLog = errors.New("the log is damaged")

// Log opens the stored log of a run. Errors are run.ErrNotFound, ErrDamagedLog, or transient.
func (s Store) Log(ctx context.Context, rec run.Record) (io.ReadCloser, error) {
	stored, err := s.Blobs.Open(ctx, rec.Key(run.BlobLog))
	var sealed *blob.SealError
	switch {
	case errors.Is(err, blob.ErrNotFound):
		return nil, NotFound(rec.Spec.Stack, rec.Spec.ID)
	case errors.As(err, &sealed):
		return nil, fmt.Errorf("%w: %w", ErrDamagedLog, err)
	case err != nil:
		return nil, err
	}
	text, err := unpacked(stored)
	if err != nil {
		stored.Close() //nolint:errcheck // it is damaged
		return nil, fmt.Errorf("%w: %w", ErrDamagedLog, err)
	}
	return struct {
		io.Reader
		io.Closer
	}{text, stored}, nil
}

// unpacked reads a stored log, compressed or not.
func unpacked(r io.Reader) (io.Reader, error) {
	kept := bufio.NewReader(r)
	begin, err := kept.Peek(len(gzipMagic))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if bytes.Equal(begin, gzipMagic) {
		return gzip.NewReader(kept)
	}
	return kept, nil
}
