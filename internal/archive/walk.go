// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Entry is a valid entry of an archive.
type Entry struct {
	// Name is relative, without dots; "." is the root.
	Name string
	Dir  bool
	// Link is the target of a symbolic link.
	Link       string
	Executable bool
	// Size is the content's size, and Content the content. Both are empty except for a file.
	Size    int64
	Content io.Reader
}

// Walk passes every entry of an archive to visit, which may read its content, and checks limits and
// digest as Extract does. Do not rely on any entry until Walk returns nil.
func Walk(ctx context.Context, r io.Reader, limits Limits, digest string, visit func(Entry) error) error {
	return read(ctx, r, limits, digest, func(e entry) error {
		return visit(Entry{Name: e.name, Dir: e.kind == isDir, Link: e.target, Executable: e.executable, Size: e.size, Content: e.content})
	})
}

// Repack writes the content of a directory in an archive to w as an archive of its own, and returns
// its digest. It keeps the order of the entries, so the same input makes the same output. After an
// error the output is unusable.
func Repack(ctx context.Context, r io.Reader, limits Limits, dir string, w io.Writer) (string, error) {
	out := &failing{w: w}
	p := newPacker(out, PackOptions{MaxPacked: limits.MaxPacked})
	err := read(ctx, r, limits, "", func(e entry) error {
		name, below := strings.CutPrefix(e.name, dir+"/")
		if !below || e.kind == isDir {
			return nil
		}
		if e.kind == isLink {
			return p.link(name, e.target)
		}
		mode := int64(0o644)
		if e.executable {
			mode = 0o755
		}
		return p.file(name, mode, e.size, e.content)
	})
	digest := ""
	if err == nil {
		digest, err = p.close()
	}
	if out.err != nil { // not the archive's fault
		err = out.err
	}
	if err != nil {
		return "", fmt.Errorf("repack %s of an archive: %w", dir, err)
	}
	return digest, nil
}

// failing remembers the error of a writer.
type failing struct {
	w   io.Writer
	err error
}

func (f *failing) Write(b []byte) (n int, err error) {
	n, err = f.w.Write(b)
	if err != nil {
		f.err = err
	}
	return n, err
}

// IsInvalid reports whether reading an archive failed because of its content: an entry, a limit, or
// bytes that are not an archive.
func IsInvalid(err error) bool {
	var entry *EntryError
	var format *FormatError
	return IsLimit(err) || errors.As(err, &entry) || errors.As(err, &format)
}

// FormatError means that bytes are not a gzipped tar archive.
type FormatError struct{ Err error }

func (e *FormatError) Error() string { return "not a valid gzipped tar archive: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *FormatError) Unwrap() error { return e.Err }
