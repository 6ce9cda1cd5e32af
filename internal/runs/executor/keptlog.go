// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

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

// A line that a program prints is kept as the tool's JSON, which is several times as long and repeats itself from line to
// line: compressed it takes a thirtieth. Most logs are short, though, and for those the compressor's own memory would be
// the larger part.
const compressFrom = 64 << 10

// gzipMagic begins a compressed log. A line of JSON begins with a brace.
var gzipMagic = []byte{0x1f, 0x8b}

// keepLog stores the log of a run that is over.
func (e *Executor) keepLog(ctx context.Context, en *entry, rec run.Record) error {
	size := en.log.position().Offset
	log, err := en.log.reader()
	if err == nil && size >= compressFrom {
		packed, stop := compress(log)
		defer stop()
		log = packed
	}
	if err == nil {
		err = e.opts.Blobs.Put(ctx, rec.Key(run.BlobLog), log)
	}
	if err != nil {
		return fmt.Errorf("keep the log of run %s of %s: %w", en.id, en.stack, err)
	}
	return nil
}

// compress returns a reader of what r yields, compressed. It must be read to its end or stopped.
func compress(r io.Reader) (packed io.Reader, stop func()) {
	out, in := io.Pipe()
	go func() {
		w, err := gzip.NewWriterLevel(in, gzip.BestSpeed)
		if err == nil {
			_, err = io.Copy(w, r)
			err = errors.Join(err, w.Close())
		}
		in.CloseWithError(err)
	}()
	return out, func() { out.Close() }
}

// WriteLog copies a run's log, JSON lines as internal/runs/run describes them, to w. With follow it returns when the run is
// over.
func (e *Executor) WriteLog(ctx context.Context, stack run.Stack, id string, follow bool, w io.Writer) error {
	if en := e.inHand(stack); en != nil && en.id == id {
		return en.log.follow(ctx, w, follow)
	}
	if en := e.unstoredPass(stack); en != nil && en.id == id {
		return en.log.follow(ctx, w, false)
	}
	rec, err := e.Record(ctx, stack, id)
	if err != nil {
		return err
	}
	r, err := e.opts.Blobs.Open(ctx, rec.Key(run.BlobLog))
	if errors.Is(err, blob.ErrNotFound) {
		return &NotFoundError{Stack: stack, RunID: id}
	}
	if err != nil {
		return fmt.Errorf("read the log of run %s of %s: %w", id, stack, err)
	}
	defer r.Close() //nolint:errcheck // read only
	if err := copyKept(w, r); err != nil {
		return fmt.Errorf("read the log of run %s of %s: %w", id, stack, err)
	}
	return nil
}

// copyKept copies a log that was kept.
func copyKept(w io.Writer, r io.Reader) error {
	log, err := unpacked(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, log)
	return err
}

// unpacked reads a log that was kept, compressed or as earlier versions kept it.
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
