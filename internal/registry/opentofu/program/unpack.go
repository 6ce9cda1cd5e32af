// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// maxProgram limits an unpacked program. The one of 1.12 has about 110 MB.
const maxProgram = 2 << 30

// unpack extracts the program of an archive to a file, and syncs it to disk.
func unpack(archive string, r Release, path string) error {
	if strings.HasSuffix(r.Archive, ".zip") {
		return unpackZip(archive, r.Tool, path)
	}
	return unpackTar(archive, r.Tool, path)
}

func unpackTar(archive, tool, path string) error {
	packed, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer packed.Close() //nolint:errcheck // it was only read
	unzipped, err := gzip.NewReader(packed)
	if err != nil {
		return err
	}
	for entries := tar.NewReader(unzipped); ; {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("it does not contain the program %s", tool)
		}
		if err != nil {
			return err
		}
		if entry.Name != tool && entry.Name != "./"+tool {
			continue
		}
		if entry.Typeflag != tar.TypeReg || entry.Size > maxProgram {
			return fmt.Errorf("its file %s is not a program: %s with %d bytes", tool, fs.FileMode(entry.Mode), entry.Size)
		}
		return write(entries, path)
	}
}

func unpackZip(archive, tool, path string) error {
	packed, err := zip.OpenReader(archive)
	if err != nil {
		return err
	}
	defer packed.Close() //nolint:errcheck // it was only read
	for _, entry := range packed.File {
		if entry.Name != tool {
			continue
		}
		if !entry.Mode().IsRegular() || entry.UncompressedSize64 > maxProgram {
			return fmt.Errorf("its file %s is not a program: %s with %d bytes", tool, entry.Mode(), entry.UncompressedSize64)
		}
		from, err := entry.Open()
		if err != nil {
			return err
		}
		defer from.Close()       //nolint:errcheck // it was only read
		return write(from, path) // the reader fails after the declared size
	}
	return fmt.Errorf("it does not contain the program %s", tool)
}

func write(from io.Reader, path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from) // the archive's reader ends after the declared size
	return errors.Join(err, file.Chmod(0o755), file.Sync(), file.Close())
}
