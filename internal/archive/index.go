// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
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

// Index is what an archive consists of, by the digests of its files: enough to tell two archives apart part by part.
type Index struct {
	// Files are all entries, sorted by name.
	Files []IndexedFile
	// Kept is the content of the files that were to be kept.
	Kept map[string][]byte
	// Links is true when there is a link in the archive.
	Links bool
}

// IndexedFile is a file, a directory or a link.
type IndexedFile struct {
	Name string
	// Sum is the SHA-256 of a file's content, Link the target of a link; of a directory both are empty.
	Sum        [sha256.Size]byte
	Dir        bool
	Link       string
	Executable bool
	// Marked says that the text of a file was found remarkable.
	Marked uint8
}

// IndexOptions bound what an index keeps.
type IndexOptions struct {
	// MaxFiles and MaxKept bound the number of entries and the bytes that are kept.
	MaxFiles int
	MaxKept  int64
	// Keep selects the files whose content is kept.
	Keep func(name string) bool
	// Mark looks at the content of text files of moderate size; what it returns is kept with the file. Larger ones get
	// Opaque, as do those that come after MaxMarked bytes of text, and those that are no text get nothing.
	Mark      func(text []byte) uint8
	MaxMarked int64
	Opaque    uint8
}

const (
	// maxMarked is the size up to which texts are looked at.
	maxMarked = 4 << 20
	// defaultMaxMarked is how much text is looked at in one archive. Those of a thousand root modules have some ten MiB.
	defaultMaxMarked = 256 << 20
)

// ReadIndex reads an archive once. A *LimitError says that it has more than the options allow.
func ReadIndex(ctx context.Context, r io.Reader, limits Limits, digest string, o IndexOptions) (*Index, error) {
	x := &Index{Kept: map[string][]byte{}}
	left := o.MaxKept
	if o.MaxMarked == 0 {
		o.MaxMarked = defaultMaxMarked
	}
	err := read(ctx, r, limits, digest, func(e entry) error {
		if len(x.Files) >= o.MaxFiles {
			return &LimitError{"the number of files looked at", int64(o.MaxFiles)}
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
					return &LimitError{"the size of the files looked into in bytes", o.MaxKept}
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

// read takes in a file's content and returns it when it is wanted. Of o.MaxMarked it leaves what is left.
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

// textual reports whether what was cut off somewhere may be the beginning of a text.
func textual(head []byte) bool {
	return utf8.Valid(head[:len(head)-utf8.UTFMax]) || utf8.Valid(head[:len(head)-1]) || utf8.Valid(head[:len(head)-2]) || utf8.Valid(head[:len(head)-3])
}

// Below returns the entries in a directory and below it, and its own; "." is the root.
func (x *Index) Below(dir string) []IndexedFile {
	if dir == "." {
		return x.Files
	}
	// Between "a" and "a/" other names sort, such as "a-b".
	begin, _ := x.find(dir + "/")
	end, _ := x.find(dir + "0") // the character after the slash
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

// Content is what was kept of a file, or of the file that a link of that name leads to. Directories that are links are not
// followed.
func (x *Index) Content(name string) (content []byte, kept bool) {
	for range 40 { // as many as Linux follows
		f, ok := x.Get(name)
		if !ok || f.Link == "" {
			break
		}
		name = path.Join(path.Dir(name), f.Link)
	}
	content, kept = x.Kept[name]
	return content, kept
}

// Size is about how many bytes the index takes.
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

// IsLimit reports whether an archive could not be read because it goes beyond a limit.
func IsLimit(err error) bool {
	var limit *LimitError
	return errors.As(err, &limit)
}

// Select returns the content of those kept files below a directory whose name keep accepts. Links to such files are
// followed, as Files does.
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
