// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"sync"
)

// chunk is the unit that is verified again. A sum has 32 bytes, so an archive of 1 TiB takes 32 MiB of memory.
const chunk = 1 << 20

// verified is an archive that is read in place, in any order. Its readers return only bytes that were read before, when the
// archive was verified: somebody who changes the file afterwards makes reads fail.
type verified struct {
	from io.ReaderAt
	size int64
	sums [][sha256.Size]byte // only [verified.record] writes them
}

// again returns a reader with a chunk of its own: several that share one would verify theirs again at each turn.
func (v *verified) again() io.ReaderAt { return &reader{v: v} }

// reader reads an archive that was verified.
type reader struct {
	v *verified

	mu   sync.Mutex // of the chunk: [io.ReaderAt] allows parallel calls
	at   int64      // the chunk in text
	text []byte
}

// record reads the archive once, in its order, and keeps the sums of its chunks.
func (v *verified) record() io.Reader { return &recorder{v: v} }

type recorder struct {
	v    *verified
	left bytes.Reader
}

func (r *recorder) Read(p []byte) (int, error) {
	if r.left.Len() == 0 {
		at := int64(len(r.v.sums))
		text, err := r.v.read(at)
		if err != nil {
			return 0, err
		}
		r.v.sums = append(r.v.sums, sha256.Sum256(text))
		r.left.Reset(text)
	}
	return r.left.Read(p)
}

// read reads a chunk; io.EOF is its error after the last one.
func (v *verified) read(at int64) ([]byte, error) {
	size := min(chunk, v.size-at*chunk)
	if size <= 0 {
		return nil, io.EOF
	}
	text := make([]byte, size)
	n, err := v.from.ReadAt(text, at*chunk)
	switch {
	case int64(n) == size:
		return text, nil
	case err == nil || errors.Is(err, io.EOF):
		return nil, io.ErrUnexpectedEOF
	}
	return nil, err
}

// ReadAt implements [io.ReaderAt].
func (r *reader) ReadAt(p []byte, offset int64) (n int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n < len(p) && offset < r.v.size {
		if at := offset / chunk; r.text == nil || at != r.at {
			text, err := r.v.read(at)
			if err != nil {
				return n, err
			}
			if at >= int64(len(r.v.sums)) || sha256.Sum256(text) != r.v.sums[at] {
				return n, invalidf("somebody changed the file while it was used. Copy it again, and compare its digest")
			}
			r.at, r.text = at, text
		}
		some := copy(p[n:], r.text[offset%chunk:])
		n, offset = n+some, offset+int64(some)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// counted counts what was read. It hides that a reader can seek, so that tar reads everything.
type counted struct {
	r io.Reader
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
