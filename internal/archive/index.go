// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// Index lists the content of an archive with the digests of its files: enough to compare two
// archives part by part.
type Index struct {
	// Files are all entries, sorted by name.
	Files []IndexedFile
	// Kept is the content of the selected files.
	Kept map[string][]byte
	// Links is true if the archive contains a link.
	Links bool
}

// IndexedFile is a file, a directory or a link.
type IndexedFile struct {
	Name string
	// Sum is the SHA-256 of a file's content, Link the target of a link. Both are empty for a
	// directory.
	Sum        [sha256.Size]byte
	Dir        bool
	Link       string
	Executable bool
	// Marked is the result of IndexOptions.Mark for the file.
	Marked uint8
}

// IndexOptions select and limit what an index keeps.
type IndexOptions struct {
	// MaxFiles and MaxKept limit the number of entries and the kept bytes.
	MaxFiles int
	MaxKept  int64
	// Keep selects the files whose content is kept.
	Keep func(name string) bool
	// Mark inspects the content of text files of moderate size; its result is stored with the file.
	// Larger files, and files after MaxMarked bytes of text, get Opaque. Binary files get nothing.
	Mark      func(text []byte) uint8
	MaxMarked int64
	Opaque    uint8
}

const (
	// maxMarked is the size up to which texts are inspected.
	maxMarked = 4 << 20
	// defaultMaxMarked limits the inspected text of one archive. A thousand root modules have about
	// ten MiB.
	defaultMaxMarked = 256 << 20
)

// ReadIndex reads an archive once. It returns a *LimitError if the archive exceeds the options.
func ReadIndex(ctx context.Context, r io.Reader, limits Limits, digest string, o IndexOptions) (*Index, error) {
	x := &Index{Kept: map[string][]byte{}}
	left := o.MaxKept
	o.MaxMarked = cmp.Or(o.MaxMarked, defaultMaxMarked)
	err := read(ctx, r, limits, digest, func(e entry) error {
		if len(x.Files) >= o.MaxFiles {
			return &LimitError{"the number of files", int64(o.MaxFiles)}
		}
		f := IndexedFile{Name: e.name, Dir: e.kind == isDir, Link: e.target, Executable: e.executable}
		if e.kind == isFile {
			kept := o.Keep(e.name)
			content, err := f.read(e.content, &o, kept)
			if err != nil {
				return err
			}
			if kept {
				if left -= int64(len(content)); left < 0 {
					return &LimitError{"the size of the kept files in bytes", o.MaxKept}
				}
				x.Kept[e.name] = content
			}
		}
		x.Links = x.Links || e.kind == isLink
		x.Files = append(x.Files, f)
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(x.Files, func(a, b IndexedFile) int { return strings.Compare(a.Name, b.Name) })
	return x, nil
}

// read hashes a file's content, and returns it if it is needed. It subtracts inspected text from
// o.MaxMarked.
func (f *IndexedFile) read(content io.Reader, o *IndexOptions, kept bool) ([]byte, error) {
	sum := sha256.New()
	var head bytes.Buffer
	n, err := io.Copy(io.MultiWriter(&head, sum), io.LimitReader(content, maxMarked+1))
	if err != nil {
		return nil, err
	}
	switch {
	case n > maxMarked:
		if kept {
			return nil, &LimitError{fmt.Sprintf("the size of %s in bytes", f.Name), maxMarked}
		}
		if textual(head.Bytes()) {
			f.Marked = o.Opaque
		}
		if _, err := io.Copy(sum, content); err != nil {
			return nil, err
		}
	case !utf8.Valid(head.Bytes()):
	case n > o.MaxMarked:
		o.MaxMarked, f.Marked = 0, o.Opaque
	default:
		o.MaxMarked -= n
		f.Marked = o.Mark(head.Bytes())
	}
	copy(f.Sum[:], sum.Sum(nil))
	return head.Bytes(), nil
}

// textual reports whether the beginning of a file, possibly truncated, is text.
func textual(head []byte) bool {
	return utf8.Valid(head[:len(head)-utf8.UTFMax]) || utf8.Valid(head[:len(head)-1]) || utf8.Valid(head[:len(head)-2]) || utf8.Valid(head[:len(head)-3])
}

// Below returns a directory's own entry and all entries below it; "." is the root.
func (x *Index) Below(dir string) []IndexedFile {
	if dir == "." {
		return x.Files
	}
	// Other names, such as "a-b", sort between "a" and "a/".
	begin, _ := x.find(dir + "/")
	end, _ := x.find(dir + "0") // '0' follows '/'
	return x.Files[begin:end]
}

// Get finds an entry by its name.
func (x *Index) Get(name string) (IndexedFile, bool) {
	i, ok := x.find(name)
	if !ok {
		return IndexedFile{}, false
	}
	return x.Files[i], true
}

func (x *Index) find(name string) (int, bool) {
	return slices.BinarySearchFunc(x.Files, name, func(f IndexedFile, name string) int { return strings.Compare(f.Name, name) })
}

// Content returns the kept content of a file, or of the file that a link of that name leads to. It
// does not follow directories that are links.
func (x *Index) Content(name string) (content []byte, kept bool) {
	for range 40 { // Linux follows 40 links, too
		f, ok := x.Get(name)
		if !ok || f.Link == "" {
			break
		}
		name = path.Join(path.Dir(name), f.Link)
	}
	content, kept = x.Kept[name]
	return content, kept
}

// Size returns the approximate size of the index in bytes.
func (x *Index) Size() int {
	size := 0
	for i := range x.Files {
		size += 128 + len(x.Files[i].Name) + len(x.Files[i].Link)
	}
	for name, content := range x.Kept {
		size += 64 + len(name) + len(content)
	}
	return size
}

// IsLimit reports whether reading an archive failed because of a limit.
func IsLimit(err error) bool {
	var limit *LimitError
	return errors.As(err, &limit)
}

// Select returns the kept files below a directory whose names keep accepts. Like Files, it follows
// links to such files.
func (x *Index) Select(dir string, maxBytes int64, keep func(name string) bool) (map[string][]byte, error) {
	files, links := map[string][]byte{}, map[string]string{}
	below := x.Below(dir)
	for i := range below {
		f := &below[i]
		if f.Dir || !keep(f.Name) {
			continue
		}
		if f.Link != "" {
			links[f.Name] = path.Join(path.Dir(f.Name), f.Link)
			continue
		}
		content, kept := x.Kept[f.Name]
		if !kept {
			continue
		}
		if maxBytes -= int64(len(content)); maxBytes < 0 {
			return nil, &LimitError{"the size of the files read in bytes", maxBytes}
		}
		files[f.Name] = content
	}
	follow(files, links)
	return files, nil
}
