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

// verified reads an archive in place, in any order, for several readers. It returns only bytes that were read before, when
// the archive was verified: somebody who changes the file afterwards makes reads fail.
type verified struct {
	from io.ReaderAt
	size int64
	sums [][sha256.Size]byte

	mu   sync.Mutex
	at   int64 // the chunk in text
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
func (v *verified) ReadAt(p []byte, offset int64) (n int, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for n < len(p) && offset < v.size {
		if at := offset / chunk; v.text == nil || at != v.at {
			text, err := v.read(at)
			if err != nil {
				return n, err
			}
			if at >= int64(len(v.sums)) || sha256.Sum256(text) != v.sums[at] {
				return n, invalidf("somebody changed the file while it was used. Copy it again, and compare its digest")
			}
			v.at, v.text = at, text
		}
		some := copy(p[n:], v.text[offset%chunk:])
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
