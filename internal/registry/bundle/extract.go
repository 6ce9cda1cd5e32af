// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// slack is the free space that an extraction leaves to others.
const slack = 64 << 20

// NoSpaceError means that parts of a bundle do not fit on a disk. Nothing was written.
type NoSpaceError struct {
	Dir        string
	Need, Free int64
}

func (e *NoSpaceError) Error() string {
	return fmt.Sprintf("unpack the bundle: %s needs %d MB, and its disk has %d MB free. Free %d MB there, or use another directory", e.Dir, megabytes(e.Need), e.Free>>20, megabytes(e.Need-e.Free))
}

func megabytes(n int64) int64 { return (n + 1<<20 - 1) >> 20 }

// Extract writes the files of some parts below a directory that exists and has none of them.
func (a *Archive) Extract(ctx context.Context, dir string, parts ...string) error {
	var files []File
	need := int64(slack)
	for _, part := range parts {
		for _, f := range a.below(part) {
			files = append(files, f)
			need += f.Size
		}
	}
	free, err := freeIn(dir)
	if err != nil {
		return fmt.Errorf("unpack the bundle: %w", err)
	}
	if need > free {
		return &NoSpaceError{dir, need, free}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // the files are closed
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := a.extract(root, f); err != nil {
			return err
		}
	}
	return nil
}

func (a *Archive) extract(root *os.Root, f File) (err error) {
	from, err := a.Reader(f.Path)
	if err != nil {
		return err
	}
	name := filepath.FromSlash(f.Path)
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	return errors.Join(err, file.Close())
}

// freeIn is the space for this user on the disk of a directory. Tests replace it.
var freeIn = func(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, fmt.Errorf("find the free space of %s: %w", dir, err)
	}
	return int64(min(s.Bavail, 1<<43)) * s.Bsize, nil //nolint:unconvert // Bsize has another type elsewhere
}
