// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/storer"

	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
)

// maxObjects limits the objects of a pack: five times as many as in a checkout. Each needs about
// 300 bytes of memory for the index.
const maxObjects = 1_000_000

// packLimits limit a pack, and each of its objects.
type packLimits struct{ bytes, object int64 }

// receive writes a pack to a file, checks the limits, and adds its objects to the store. Thin packs
// refer to objects of the store and are unpacked; they are small. Only steps that need memory wait
// for a slot, so a slow server does not delay others.
func (s *store) receive(ctx context.Context, r io.Reader, thin bool, limits packLimits, slot func(context.Context) (func(), error)) error {
	f, err := os.CreateTemp(filepath.Join(s.dir, "tmp"), "pack-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	limited := &upstream.LimitedReader{R: r, Left: limits.bytes, Exceeded: tooBig("more than %d MiB would have to be fetched", limits.bytes>>20)}
	if _, err := io.Copy(f, contextReader{ctx, limited}); err != nil {
		return err
	}
	free, err := slot(ctx)
	if err != nil {
		return err
	}
	defer free()
	if err := survey(ctx, f, limits); err != nil {
		return broken(ctx, err)
	}
	if thin {
		return broken(ctx, s.unpack(ctx, f))
	}
	return broken(ctx, s.index(ctx, f))
}

// broken marks errors of libraries as damage of the pack.
func broken(ctx context.Context, err error) error {
	var path *os.PathError
	var problem *upstream.Problem
	if err == nil || ctx.Err() != nil || errors.As(err, &problem) || errors.As(err, &path) {
		return err
	}
	return &damageError{err: err}
}

// seekable reads a file until ctx ends.
type seekable struct {
	contextReader
	io.Seeker
}

func rewind(ctx context.Context, f *os.File) (*packfile.Scanner, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return packfile.NewScanner(seekable{contextReader{ctx, f}, f}), nil
}

// survey reads a whole pack and checks the size of the unpacked objects: a few bytes can expand to
// gigabytes.
func survey(ctx context.Context, f *os.File, limits packLimits) error {
	scanner, err := rewind(ctx, f)
	if err != nil {
		return err
	}
	_, count, err := scanner.Header()
	if err != nil {
		return err
	}
	if count > maxObjects {
		return tooBig("a pack has %d objects, the limit is %d", count, maxObjects)
	}
	for range count {
		header, err := scanner.NextObjectHeader()
		if err != nil {
			return err
		}
		begin := &beginning{}
		size := header.Length
		if size <= limits.object {
			if _, _, err := scanner.NextObject(begin); err != nil {
				return err
			}
			if header.Type.IsDelta() {
				size = begin.deltaSize()
			}
		}
		if size < 0 || size > limits.object {
			return tooBig("a file in it has %d MiB, the limit is %d MiB", size>>20, limits.object>>20)
		}
	}
	return nil
}

// beginning keeps the first bytes of a delta: the sizes of its base and its result.
type beginning struct {
	bytes [24]byte
	n     int
}

func (b *beginning) Write(p []byte) (int, error) {
	b.n += copy(b.bytes[b.n:], p)
	return len(p), nil
}

func (b *beginning) deltaSize() int64 {
	_, n := binary.Uvarint(b.bytes[:b.n])
	if n <= 0 {
		return -1
	}
	size, n := binary.Uvarint(b.bytes[n:b.n])
	if n <= 0 || size > 1<<62 {
		return -1
	}
	return int64(size)
}

// index adds a pack to the store. It renames the pack last: without it, the index is ignored.
func (s *store) index(ctx context.Context, f *os.File) error {
	scanner, err := rewind(ctx, f)
	if err != nil {
		return err
	}
	writer := new(idxfile.Writer)
	parser, err := packfile.NewParser(scanner, writer)
	if err != nil {
		return err
	}
	sum, err := parser.Parse()
	if err != nil {
		return err
	}
	index, err := writer.Index()
	if err != nil {
		return err
	}
	out, err := os.CreateTemp(filepath.Join(s.dir, "tmp"), "idx-")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name())
	_, err = idxfile.NewEncoder(out).Encode(index)
	if err = errors.Join(err, out.Sync(), out.Close(), f.Sync()); err != nil {
		return err
	}
	name := filepath.Join(s.dir, "objects", "pack", "pack-"+sum.String())
	return errors.Join(os.Rename(out.Name(), name+".idx"), os.Rename(f.Name(), name+".pack"))
}

// unpack adds the objects of a thin pack one by one.
func (s *store) unpack(ctx context.Context, f *os.File) error {
	scanner, err := rewind(ctx, f)
	if err != nil {
		return err
	}
	into := openObjects(s.dir)
	defer into.Close()
	parser, err := packfile.NewParserWithStorage(scanner, single{into.storage})
	if err != nil {
		return err
	}
	_, err = parser.Parse()
	return err
}

// single hides the method with which the storage would store a pack unchanged.
type single struct{ storer.EncodedObjectStorer }

// SetEncodedObject adds an object unless it exists.
func (s single) SetEncodedObject(o plumbing.EncodedObject) (plumbing.Hash, error) {
	if s.HasEncodedObject(o.Hash()) == nil {
		return o.Hash(), nil
	}
	return s.EncodedObjectStorer.SetEncodedObject(o)
}
