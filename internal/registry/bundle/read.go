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
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// Archive is a verified bundle that is read in place: nothing of it is unpacked unless [Archive.Extract] does.
type Archive struct {
	Summary
	from   *verified
	places map[string]place
	close  func() error
}

// place is where the content of a file is in the archive.
type place struct{ offset, size int64 }

// OpenFile verifies a bundle in a file. If digest is not empty, the bundle must have it.
func OpenFile(ctx context.Context, name, digest string) (*Archive, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file: a bundle is read in any order. Write it to a file first", name)
	}
	var a *Archive
	if err == nil {
		a, err = Open(ctx, file, info.Size())
	}
	if err == nil && digest != "" && digest != a.Digest {
		err = fmt.Errorf("its digest is %s, and --bundle-digest is %s: it is another bundle, or somebody changed it. Nothing of it was used", a.Digest, digest)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	a.close = file.Close
	return a, nil
}

// Close closes the file of [OpenFile].
func (a *Archive) Close() error {
	if a.close == nil {
		return nil
	}
	return a.close()
}

// Open reads an archive of this size to its end, and verifies all of it. What is read from the bundle later is
// compared with what was verified.
func Open(ctx context.Context, from io.ReaderAt, size int64) (*Archive, error) {
	a := &Archive{from: &verified{from: from, size: size}, places: map[string]place{}}
	position := &counted{r: a.from.record()}
	archive := tar.NewReader(position)
	index, text, err := readIndex(archive)
	if err != nil {
		return nil, err
	}
	for _, f := range index.Files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		header, err := archive.Next()
		if err != nil {
			return nil, broken(err)
		}
		if header.Typeflag != tar.TypeReg || header.Name != f.Path || header.Size != f.Size {
			return nil, invalidf("the archive has %q where its index has %s", shorten.Cut(header.Name, 120), f.Path)
		}
		at := place{position.n, f.Size}
		if err := verifyFile(archive, f); err != nil {
			return nil, err
		}
		// The content of a sparse file is not what the archive has at its place.
		if position.n != at.offset+at.size {
			return nil, invalidf("%s is sparse", f.Path)
		}
		a.places[f.Path] = at
	}
	if header, err := archive.Next(); !errors.Is(err, io.EOF) {
		if err != nil {
			return nil, broken(err)
		}
		return nil, invalidf("the archive has %q, which its index does not have", shorten.Cut(header.Name, 120))
	}
	if _, err := io.Copy(io.Discard, position); err != nil {
		return nil, broken(err)
	}
	a.Summary = summaryOf(index, text)
	return a, nil
}

// Has reports whether the bundle has a file, or files below a directory.
func (a *Archive) Has(part string) bool { return len(a.below(part)) > 0 }

// below are the files of a part.
func (a *Archive) below(part string) (files []File) {
	for _, f := range a.Files {
		if f.Path == part || strings.HasPrefix(f.Path, part+"/") {
			files = append(files, f)
		}
	}
	return files
}

// Reader reads a file in place.
func (a *Archive) Reader(name string) (*io.SectionReader, error) {
	at, ok := a.places[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return io.NewSectionReader(a.from.again(), at.offset, at.size), nil
}

// readFile reads a file of at most so many bytes.
func (a *Archive) readFile(name string, most int64) ([]byte, error) {
	r, err := a.Reader(name)
	if err != nil {
		return nil, err
	}
	if r.Size() > most {
		return nil, invalidf("%s has more than %d bytes", name, most)
	}
	return io.ReadAll(r)
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

// verifyFile reads a file to its end, and compares its sum with that of the index.
func verifyFile(from io.Reader, f File) error {
	hash := sha256.New()
	if _, err := io.Copy(hash, from); err != nil {
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
