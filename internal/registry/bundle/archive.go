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
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
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

// Read verifies a bundle, and unpacks it into a directory that must be empty; without one, it only verifies.
func Read(ctx context.Context, from io.Reader, dir string) (Summary, error) {
	archive := tar.NewReader(from)
	index, text, err := readIndex(archive)
	if err != nil {
		return Summary{}, err
	}
	var root *os.Root
	if dir != "" {
		if root, err = os.OpenRoot(dir); err != nil {
			return Summary{}, err
		}
		defer root.Close() //nolint:errcheck // the files are closed
	}
	for _, f := range index.Files {
		if err := ctx.Err(); err != nil {
			return Summary{}, err
		}
		header, err := archive.Next()
		if err != nil {
			return Summary{}, broken(err)
		}
		if header.Typeflag != tar.TypeReg || header.Name != f.Path || header.Size != f.Size {
			return Summary{}, invalidf("the archive has %q where its index has %s", shorten.Cut(header.Name, 120), f.Path)
		}
		if err := unpack(archive, root, f); err != nil {
			return Summary{}, err
		}
	}
	if header, err := archive.Next(); !errors.Is(err, io.EOF) {
		if err != nil {
			return Summary{}, broken(err)
		}
		return Summary{}, invalidf("the archive has %q, which its index does not have", shorten.Cut(header.Name, 120))
	}
	return summaryOf(index, text), nil
}

func readIndex(archive *tar.Reader) (index Index, text []byte, err error) {
	header, err := archive.Next()
	if err != nil {
		return index, nil, broken(err)
	}
	if header.Name != indexName || header.Typeflag != tar.TypeReg || header.Size > maxIndex {
		return index, nil, invalidf("it does not begin with %s: it is not a bundle. Make one with\n    yuba bundle create", indexName)
	}
	if text, err = io.ReadAll(archive); err != nil {
		return index, nil, broken(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&index); err != nil || index.Version != version {
		return index, nil, invalidf("its index is not that of version %d: another version of Yuba may have made it", version)
	}
	return index, text, check(index.Files)
}

// check refuses files that may not be unpacked.
func check(files []File) error {
	if len(files) > maxFiles {
		return invalidf("it has more than %d files", maxFiles)
	}
	total, last := int64(0), ""
	for _, f := range files {
		shown := shorten.Cut(f.Path, 120)
		switch {
		case !fs.ValidPath(f.Path) || f.Path == "." || strings.ContainsAny(f.Path, "\\\x00") || path.Clean(f.Path) != f.Path:
			return invalidf("%q is not a path below the bundle", shown)
		case f.Path <= last:
			return invalidf("%q is twice in it, or out of order", shown)
		case strings.HasPrefix(f.Path, last+"/") && last != "":
			return invalidf("%q is below a file", shown)
		case f.Size < 0 || f.Size > maxBytes-total:
			return invalidf("it has more than %d GiB", int64(maxBytes)>>30)
		}
		total, last = total+f.Size, f.Path
	}
	return nil
}

// unpack verifies a file, and writes it if there is a directory.
func unpack(from io.Reader, root *os.Root, f File) (err error) {
	hash := sha256.New()
	to := io.Writer(hash)
	if root != nil {
		name := filepath.FromSlash(f.Path)
		if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		to = io.MultiWriter(file, hash)
	}
	if _, err := io.Copy(to, from); err != nil {
		return broken(err)
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != f.SHA256 {
		return invalidf("%s has the SHA-256 sum %s, and its index has %s: the bundle is damaged. Copy it again", f.Path, got, shorten.Cut(f.SHA256, 64))
	}
	return nil
}

func broken(err error) error {
	var local *fs.PathError
	switch {
	case errors.As(err, &local):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return invalidf("it ends early. Copy it again")
	case errors.Is(err, tar.ErrHeader):
		return invalidf("it is not a tar archive, or is damaged")
	}
	return fmt.Errorf("read the bundle: %w", err)
}
