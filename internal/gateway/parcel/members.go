// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package parcel

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/yuba-dev/yuba/internal/kit/bundle"
)

// reader reads members. A member is the content of consecutive entries with one name.
type reader struct {
	ctx context.Context
	tar *tar.Reader
	// name is the current member's, ahead that of an entry that follows it, at its beginning.
	name, ahead string
	begun       bool
	end         error
	sum         hash.Hash
	size, limit int64
	got         map[string]bundle.Member
}

// newReader reads a stream of at most limit bytes.
func newReader(ctx context.Context, r io.Reader, limit int64) *reader {
	return &reader{ctx: ctx, tar: tar.NewReader(&bounded{Reader: r, limit: limit}), got: map[string]bundle.Member{}}
}

// next begins the next member. The previous one must have been read to its end.
func (r *reader) next() (string, error) {
	if r.name != "" {
		if err := r.skip(0); err != nil {
			return "", err
		}
		r.got[r.name] = bundle.Member{Name: r.name, Size: r.size, SHA256: hex.EncodeToString(r.sum.Sum(nil))}
	}
	if !r.begun {
		r.begun = true
		if err := r.entry(); err != nil {
			return "", err
		}
	}
	if r.end != nil {
		return "", bad("it is truncated")
	}
	if _, twice := r.got[r.ahead]; twice || len(r.got) >= maxMembers {
		return "", bad("it has too many members, or %q twice", r.ahead)
	}
	r.name, r.ahead, r.sum, r.size = r.ahead, "", sha256.New(), 0
	return r.name, nil
}

// entry reads the header of the next entry.
func (r *reader) entry() error {
	if err := r.ctx.Err(); err != nil {
		return context.Cause(r.ctx)
	}
	head, err := r.tar.Next()
	switch {
	case errors.Is(err, io.EOF):
		r.end = err
		return nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		return bad("it is truncated")
	case errors.Is(err, tar.ErrHeader):
		return bad("it is not a tar archive")
	case err != nil:
		return fmt.Errorf("read the content of a stack: %w", err)
	case head.Typeflag != tar.TypeReg || head.Name == "":
		return bad("%q is not a file", head.Name)
	}
	r.ahead = head.Name
	return nil
}

// member reads the current member, at most limit bytes.
func (r *reader) member(limit int64) io.Reader {
	r.limit = limit
	return memberReader{r}
}

type memberReader struct{ *reader }

func (m memberReader) Read(p []byte) (int, error) {
	r := m.reader
	for {
		if r.ahead != "" || r.end != nil {
			return 0, io.EOF
		}
		n, err := r.tar.Read(p)
		r.sum.Write(p[:n]) //nolint:errcheck // a hash takes everything
		if r.size += int64(n); r.size > r.limit {
			return n, bad("%s is larger than %d bytes", r.name, r.limit)
		}
		if errors.Is(err, io.EOF) {
			if err = r.entry(); err == nil && r.ahead == r.name {
				r.ahead = ""
			}
		} else if errors.Is(err, io.ErrUnexpectedEOF) {
			err = bad("it is truncated in %s", r.name)
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// skip reads the rest of the current member, at most more bytes.
func (r *reader) skip(more int64) error {
	_, err := io.Copy(io.Discard, r.member(r.size+more))
	return err
}

func (r *reader) all(limit int64) ([]byte, error) { return io.ReadAll(r.member(limit)) }

func (r *reader) readJSON(into any, limit int64) error {
	data, err := r.all(limit)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return bad("%s cannot be read: %v", r.name, err)
	}
	return nil
}

// check reads the manifest, and compares it with what was read.
func (r *reader) check() (bundle.Manifest, error) {
	var manifest bundle.Manifest
	if err := r.readJSON(&manifest, maxManifest); err != nil {
		return manifest, err
	}
	known := map[string]bool{}
	for _, m := range manifest.Members {
		known[m.Name] = true
		if r.got[m.Name] != m {
			return manifest, bad("%s does not match the manifest", m.Name)
		}
	}
	for name := range r.got {
		if !known[name] {
			return manifest, bad("%s is not in the manifest", name)
		}
	}
	return manifest, nil
}

// bounded refuses more than limit bytes, headers and padding included.
type bounded struct {
	io.Reader
	limit, n int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if b.n += int64(n); b.n > b.limit {
		return n, bad("it is larger than %d bytes in all", b.limit)
	}
	return n, err
}
