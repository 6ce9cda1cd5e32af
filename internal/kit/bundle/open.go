// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

const (
	maxManifest = 256 << 20
	// maxEntries limits the memory for an archive's index.
	maxEntries = 10_000_000
)

// Archive is an archive in a file, whose members can be read in any order.
type Archive struct {
	Manifest Manifest
	file     io.ReaderAt
	places   map[string][]place
	names    []string
}

// place is one entry of a member.
type place struct{ offset, size int64 }

// Open reads an archive of this size to its end, and checks it against its manifest.
func Open(file io.ReaderAt, size int64) (*Archive, error) {
	a := &Archive{file: file, places: map[string][]place{}}
	position := &counted{r: io.NewSectionReader(file, 0, size)}
	entries, sums, last := tar.NewReader(position), map[string]Member{}, ""
	sum := sha256.New()
	for n := 0; ; n++ {
		head, err := entries.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("it is truncated, or not a tar archive: %w", err)
		}
		if head.Typeflag != tar.TypeReg || n > maxEntries || head.Name != last && len(a.places[head.Name]) > 0 {
			return nil, fmt.Errorf("its member %q is not valid", head.Name)
		}
		if head.Name != last {
			sum.Reset()
			a.names = append(a.names, head.Name)
		}
		last = head.Name
		a.places[last] = append(a.places[last], place{position.n, head.Size})
		if _, err := io.Copy(sum, entries); err != nil {
			return nil, fmt.Errorf("it is truncated in %s", last)
		}
		sums[last] = Member{Name: last, Size: sums[last].Size + head.Size, SHA256: hex.EncodeToString(sum.Sum(nil))}
	}
	return a, a.check(sums, last)
}

func (a *Archive) check(sums map[string]Member, last string) error {
	if last != ManifestName {
		return errors.New("it is truncated: its list of contents is missing")
	}
	data, err := io.ReadAll(io.LimitReader(a.Reader(ManifestName), maxManifest))
	if err == nil {
		err = json.Unmarshal(data, &a.Manifest)
	}
	if err != nil {
		return fmt.Errorf("read its list of contents: %w", err)
	}
	for _, m := range a.Manifest.Members {
		if sums[m.Name] != m {
			return fmt.Errorf("%s does not match the list of contents", m.Name)
		}
		delete(sums, m.Name)
	}
	if len(sums) != 1 {
		return errors.New("it has members that are not in its list of contents")
	}
	return nil
}

// Names are the members in their order.
func (a *Archive) Names() []string { return a.names }

// Reader reads a member; nil if there is none.
func (a *Archive) Reader(name string) io.Reader {
	places, ok := a.places[name]
	if !ok {
		return nil
	}
	readers := make([]io.Reader, 0, len(places))
	for _, p := range places {
		readers = append(readers, io.NewSectionReader(a.file, p.offset, p.size))
	}
	return io.MultiReader(readers...)
}

// JSON decodes a member of at most limit bytes.
func (a *Archive) JSON(name string, limit int64, into any) error {
	r := a.Reader(name)
	if r == nil {
		return fmt.Errorf("%s is missing", name)
	}
	if err := json.NewDecoder(io.LimitReader(r, limit)).Decode(into); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}

// counted counts what was read.
type counted struct {
	r io.Reader
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
