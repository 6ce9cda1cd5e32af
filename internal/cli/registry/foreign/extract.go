// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/yuba-dev/yuba/internal/archive"
)

// The first bytes of the archives that registries serve.
var (
	gzipMagic = []byte{0x1f, 0x8b}
	zipMagic  = []byte("PK\x03\x04")
)

// extract extracts a package, whatever its URL says about its format.
func extract(ctx context.Context, file *os.File, dest string) error {
	magic := make([]byte, len(zipMagic))
	if _, err := file.ReadAt(magic, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch {
	case bytes.HasPrefix(magic, gzipMagic):
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		_, err := archive.Extract(ctx, file, dest, archive.Limits{}, "")
		return err
	case bytes.Equal(magic, zipMagic):
		info, err := file.Stat()
		if err != nil {
			return err
		}
		from, to := io.Pipe()
		defer from.Close() //nolint:errcheck // it never fails; it ends the goroutine
		go func() { to.CloseWithError(tarOf(file, info.Size(), to)) }()
		_, err = archive.Extract(ctx, from, dest, archive.Limits{}, "")
		return err
	}
	return errors.New("it is neither a gzipped tar archive nor a zip archive")
}

// tarOf writes the content of a zip archive as a gzipped tar archive, so that both are extracted with
// the same checks.
func tarOf(file io.ReaderAt, size int64, to io.Writer) error {
	from, err := zip.NewReader(file, size)
	if err != nil {
		return err
	}
	gz, err := gzip.NewWriterLevel(to, gzip.BestSpeed)
	if err != nil {
		return err
	}
	out := tar.NewWriter(gz)
	for _, f := range from.File {
		if err := addZipped(out, f); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return errors.Join(out.Close(), gz.Close())
}

func addZipped(out *tar.Writer, f *zip.File) error {
	header, err := tar.FileInfoHeader(f.FileInfo(), "")
	if err != nil {
		return err
	}
	header.Name = f.Name
	if f.FileInfo().IsDir() {
		return out.WriteHeader(header)
	}
	if !f.Mode().IsRegular() {
		return errors.New("it is not a regular file")
	}
	content, err := f.Open()
	if err != nil {
		return err
	}
	defer content.Close() //nolint:errcheck // it was only read
	if err := out.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(out, content) //nolint:gosec // the header limits it, and the extraction limits the whole archive
	return err
}

// below is a directory in a tree. "*" is the only one, as in the archives of git hosts.
func below(tree, dir string) (string, error) {
	if dir == "" {
		return tree, nil
	}
	if !filepath.IsLocal(dir) {
		return "", fmt.Errorf("the directory %q is not in the archive", dir)
	}
	found, err := filepath.Glob(filepath.Join(tree, dir))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("the directory %q is not in the archive, or there are several", dir)
	}
	if info, err := os.Stat(found[0]); err != nil || !info.IsDir() {
		return "", fmt.Errorf("%q is not a directory in the archive", dir)
	}
	return found[0], nil
}
