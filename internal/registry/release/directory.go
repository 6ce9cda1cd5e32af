// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const (
	// maxDirectory limits the central directory of an archive in bytes: maxFiles with long names.
	maxDirectory = 4 << 20
	// directoryTail is where the end of the directory is, with the longest possible comment.
	directoryTail = 65*1024 + 20
)

var errDirectory = errors.New("its directory has more than 4 MiB, which no provider has")

// openZip opens an archive. The standard library reads the whole directory before anybody can count its
// entries, and makes room for as many as the archive claims to have: a few hundred MB of them take
// gigabytes of memory. So both are limited before.
func openZip(archive io.ReaderAt, size int64) (*zip.Reader, error) {
	if err := checkClaims(archive, size); err != nil {
		return nil, err
	}
	limited := &directoryReader{from: archive, left: maxDirectory + 2*directoryTail}
	z, err := zip.NewReader(limited, size)
	if limited.left < 0 {
		return nil, errDirectory
	}
	if err != nil {
		return nil, fmt.Errorf("it is not a zip archive: %w", err)
	}
	if len(z.File) > maxFiles {
		return nil, fmt.Errorf("it has %d files, more than the limit of %d", len(z.File), maxFiles)
	}
	limited.open = true
	return z, nil
}

// directoryReader ends when more than a directory was read, until it is open.
type directoryReader struct {
	from io.ReaderAt
	left int64
	open bool
}

func (r *directoryReader) ReadAt(p []byte, at int64) (int, error) {
	if !r.open {
		if r.left -= int64(len(p)); r.left < 0 {
			return 0, errDirectory
		}
	}
	return r.from.ReadAt(p, at)
}

// checkClaims refuses an archive that claims more entries than the limit. Only the 64-bit end of a
// directory can claim more than 65535. It is found by a locator near the archive's end.
func checkClaims(archive io.ReaderAt, size int64) error {
	tail := make([]byte, min(size, directoryTail))
	if _, err := archive.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read its directory: %w", err)
	}
	const locatorSize, endSize = 20, 56
	for {
		at := bytes.Index(tail, []byte("PK\x06\x07"))
		if at < 0 || len(tail)-at < locatorSize {
			return nil
		}
		locator := tail[at:]
		tail = tail[at+1:]
		end := make([]byte, endSize)
		offset := binary.LittleEndian.Uint64(locator[8:])
		if offset > uint64(size) { //nolint:gosec // sizes are positive
			continue
		}
		if _, err := archive.ReadAt(end, int64(offset)); err != nil || !bytes.HasPrefix(end, []byte("PK\x06\x06")) { //nolint:gosec // compared above
			continue
		}
		if claimed := binary.LittleEndian.Uint64(end[32:]); claimed > maxFiles {
			return fmt.Errorf("it has %d files, more than the limit of %d", claimed, maxFiles)
		}
	}
}
