// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	indexName = "yuba-bundle.json"
	version   = 1
	// The limits of what is unpacked.
	maxIndex = 32 << 20
	maxFiles = 100_000
	maxBytes = 1 << 40
)

// File is a file of a bundle.
type File struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Index says what is in a bundle.
type Index struct {
	Version int    `json:"version"`
	Files   []File `json:"files"`
}

// Summary is a bundle in short.
type Summary struct {
	// Digest covers all content.
	Digest string `json:"digest"`
	Files  []File `json:"files"`
	Size   int64  `json:"size"`
}

// InvalidError means that an archive is not a bundle, or is damaged. Nothing of it was used.
type InvalidError struct{ Reason string }

func (e *InvalidError) Error() string { return "read the bundle: " + e.Reason }

func invalidf(format string, args ...any) error { return &InvalidError{fmt.Sprintf(format, args...)} }

// Pack writes the files below a directory.
func Pack(ctx context.Context, dir string, to io.Writer) (Summary, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Summary{}, err
	}
	defer root.Close() //nolint:errcheck // it was only read
	index := Index{Version: version, Files: []File{}}
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return errors.Join(err, ctx.Err())
		}
		if !entry.Type().IsRegular() {
			return fmt.Errorf("pack %s: it is not a regular file", filepath.Join(dir, name))
		}
		file, err := sumOf(root, name)
		index.Files = append(index.Files, file)
		return err
	})
	if err != nil {
		return Summary{}, err
	}
	slices.SortFunc(index.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	text, err := json.MarshalIndent(index, "", " ")
	if err != nil {
		return Summary{}, err
	}
	archive := tar.NewWriter(to)
	if err := add(archive, indexName, int64(len(text)), bytes.NewReader(text)); err != nil {
		return Summary{}, err
	}
	for _, f := range index.Files {
		if err := packFile(ctx, archive, root, f); err != nil {
			return Summary{}, err
		}
	}
	return summaryOf(index, text), archive.Close()
}

func summaryOf(index Index, text []byte) Summary {
	sum := sha256.Sum256(text)
	s := Summary{Digest: "sha256:" + hex.EncodeToString(sum[:]), Files: index.Files}
	for _, f := range index.Files {
		s.Size += f.Size
	}
	return s
}

func sumOf(root *os.Root, name string) (File, error) {
	file, err := root.Open(name)
	if err != nil {
		return File{}, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	hash := sha256.New()
	size, err := io.Copy(hash, file)
	return File{filepath.ToSlash(name), size, hex.EncodeToString(hash.Sum(nil))}, err
}

func packFile(ctx context.Context, archive *tar.Writer, root *os.Root, f File) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	file, err := root.Open(filepath.FromSlash(f.Path))
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	hash := sha256.New()
	if err := add(archive, f.Path, f.Size, io.TeeReader(file, hash)); err != nil {
		return fmt.Errorf("pack %s: %w", f.Path, err)
	}
	if hex.EncodeToString(hash.Sum(nil)) != f.SHA256 {
		return fmt.Errorf("pack %s: the file changes meanwhile", f.Path)
	}
	return nil
}

func add(archive *tar.Writer, name string, size int64, from io.Reader) error {
	// Without times and owners, the same content makes the same archive.
	err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: size, Typeflag: tar.TypeReg, Format: tar.FormatPAX})
	if err == nil {
		_, err = io.Copy(archive, from)
	}
	return err
}
