// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
)

// Limits restrict what reading an archive may cost. Zero fields have defaults.
type Limits struct {
	// MaxPacked limits the archive's bytes; 1 GiB.
	MaxPacked int64
	// MaxUnpacked limits the total bytes of all files; 4 GiB.
	MaxUnpacked int64
	// MaxEntries limits the number of entries; 200 000.
	MaxEntries int64
	// MaxRatio limits the ratio of unpacked to packed bytes above 32 MiB; 200. Source code
	// compresses tenfold, zeros a thousandfold.
	MaxRatio int64
}

// ratioFloor is the size below which any ratio is accepted.
const ratioFloor = 32 << 20

// WithDefaults sets the defaults of zero fields.
func (l Limits) WithDefaults() Limits {
	return Limits{
		MaxPacked: cmp.Or(l.MaxPacked, DefaultMaxPacked), MaxUnpacked: cmp.Or(l.MaxUnpacked, 4<<30),
		MaxEntries: cmp.Or(l.MaxEntries, 200_000), MaxRatio: cmp.Or(l.MaxRatio, 200),
	}
}

type entryKind int

const (
	isFile entryKind = iota
	isDir
	isLink
)

// entry is a valid entry of an archive.
type entry struct {
	name       string
	kind       entryKind
	executable bool
	target     string
	size       int64
	content    io.Reader
}

// reader reads one archive and counts everything it reads.
type reader struct {
	ctx    context.Context
	limits Limits

	packed, inflated, logical, entries int64
	kinds                              map[string]entryKind
}

// read passes every entry to visit and verifies the digest at the end: do not rely on any entry
// until read returns nil. An empty digest is not verified.
func read(ctx context.Context, r io.Reader, limits Limits, digest string, visit func(entry) error) error {
	a := &reader{ctx: ctx, limits: limits.WithDefaults(), kinds: map[string]entryKind{}}
	sum := sha256.New()
	packed := counted{a, io.TeeReader(r, sum), &a.packed}
	gz, err := gzip.NewReader(packed)
	if err != nil {
		return a.explain("open archive", err)
	}
	inflated := counted{a, gz, &a.inflated}
	archive := tar.NewReader(inflated)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return a.explain("read archive", err)
		}
		if err := a.entry(header, archive, visit); err != nil {
			return a.explain("read archive", err)
		}
	}
	// Bytes after the last entry are part of checksum and digest.
	if _, err := io.Copy(io.Discard, inflated); err != nil {
		return a.explain("read archive", err)
	}
	if _, err := io.Copy(io.Discard, packed); err != nil {
		return a.explain("read archive", err)
	}
	if got := "sha256:" + hex.EncodeToString(sum.Sum(nil)); digest != "" && got != digest {
		return &DigestError{Want: digest, Got: got}
	}
	return nil
}

// explain adds to an error of a library that the archive is invalid.
func (a *reader) explain(action string, err error) error {
	var entry *EntryError
	var limit *LimitError
	if errors.As(err, &entry) || errors.As(err, &limit) || a.ctx.Err() != nil {
		return fmt.Errorf("%s: %w", action, err)
	}
	return fmt.Errorf("%s: %w", action, &FormatError{err})
}

func (a *reader) entry(header *tar.Header, content io.Reader, visit func(entry) error) error {
	if header.Typeflag == tar.TypeXGlobalHeader {
		return nil // git archive writes these
	}
	if a.entries++; a.entries > a.limits.MaxEntries {
		return &LimitError{"the number of entries", a.limits.MaxEntries}
	}
	name, err := cleanName(header.Name)
	if err != nil {
		return err
	}
	e := entry{name: name}
	switch header.Typeflag {
	case tar.TypeDir:
		e.kind = isDir
	case tar.TypeReg:
		e.kind, e.executable = isFile, header.Mode&0o111 != 0
		e.size, e.content = header.Size, counted{a, content, &a.logical}
	case tar.TypeSymlink:
		e.kind, e.target = isLink, header.Linkname
		if err := checkLink(name, header.Linkname); err != nil {
			return err
		}
	case tar.TypeLink:
		return &EntryError{name, "hard links are not accepted"}
	case tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
		return &EntryError{name, "devices and pipes are not accepted"}
	default:
		return &EntryError{name, fmt.Sprintf("entries of type %q are not accepted", header.Typeflag)}
	}
	if err := a.place(e); err != nil {
		return err
	}
	return visit(e)
}

// place checks the entry against earlier ones: a file or link has no children, and only directories
// may repeat.
func (a *reader) place(e entry) error {
	if e.name == "." {
		if e.kind != isDir {
			return &EntryError{e.name, "the root must be a directory"}
		}
		return nil
	}
	for parent := path.Dir(e.name); parent != "."; parent = path.Dir(parent) {
		kind, known := a.kinds[parent]
		if known && kind != isDir {
			return &EntryError{e.name, fmt.Sprintf("it is below %q, which is not a directory", parent)}
		}
		if known {
			break
		}
		if int64(len(a.kinds)) >= 2*a.limits.MaxEntries {
			return &LimitError{"the number of directories", a.limits.MaxEntries}
		}
		a.kinds[parent] = isDir
	}
	if kind, known := a.kinds[e.name]; known && (kind != isDir || e.kind != isDir) {
		return &EntryError{e.name, "the archive contains it twice"}
	}
	a.kinds[e.name] = e.kind
	return nil
}

// grown checks the limits after each read.
func (a *reader) grown() error {
	size := max(a.inflated, a.logical)
	switch {
	case a.packed > a.limits.MaxPacked:
		return &LimitError{"the archive's size in bytes", a.limits.MaxPacked}
	case a.logical > a.limits.MaxUnpacked || a.inflated > a.limits.MaxUnpacked+a.limits.MaxEntries*2048:
		return &LimitError{"the size of all files in bytes", a.limits.MaxUnpacked}
	case size > ratioFloor && size/a.limits.MaxRatio > a.packed:
		return &LimitError{"the expansion of the archive", a.limits.MaxRatio}
	}
	return a.ctx.Err()
}

// counted counts bytes where size can hide: the packed bytes, the output of gzip, and holes that
// tar fills with zeros.
type counted struct {
	a    *reader
	from io.Reader
	size *int64
}

// Read implements io.Reader.
func (c counted) Read(b []byte) (int, error) {
	n, err := c.from.Read(b)
	*c.size += int64(n)
	if limit := c.a.grown(); limit != nil {
		return n, limit
	}
	return n, err
}
