// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// maxText is how large commits, tags and files of configuration may be, maxListing a directory's
// list: some 400 000 names.
const (
	maxText    = 1 << 20
	maxListing = 16 << 20
)

// damageError says that objects are missing or are not what their names say.
type damageError struct {
	hash plumbing.Hash
	err  error
}

func (e *damageError) Error() string { return fmt.Sprintf("object %s: %v", e.hash, e.err) }

func (e *damageError) Unwrap() error { return e.err }

func isDamage(err error) bool {
	var damage *damageError
	return errors.As(err, &damage)
}

var errHash = errors.New("it does not match its hash")

// objects reads a repository's objects and checks each against its name. It is for one goroutine.
type objects struct {
	storage *filesystem.Storage
}

// openObjects opens the bare repository in dir. No link leads out of it, nor does it borrow objects
// from elsewhere.
func openObjects(dir string) *objects {
	return &objects{filesystem.NewStorageWithOptions(osfs.New(dir, osfs.WithBoundOS()), cache.NewObjectLRU(16*cache.MiByte),
		filesystem.Options{KeepDescriptors: true, LargeObjectThreshold: 1 << 20})}
}

func (o *objects) Close() error { return o.storage.Close() }

// read returns an object that is at most limit bytes large.
func (o *objects) read(hash plumbing.Hash, limit int64) (plumbing.ObjectType, []byte, error) {
	object, err := o.storage.EncodedObject(plumbing.AnyObject, hash)
	if err != nil {
		return 0, nil, &damageError{hash, err}
	}
	if object.Size() > limit {
		return 0, nil, fmt.Errorf("%w: object %s has %d bytes, the limit is %d", errTooBig, hash, object.Size(), limit)
	}
	var content bytes.Buffer
	if err := o.write(&content, object, hash); err != nil {
		return 0, nil, err
	}
	return object.Type(), content.Bytes(), nil
}

// open finds a file of at most limit bytes.
func (o *objects) open(hash plumbing.Hash, limit int64) (plumbing.EncodedObject, error) {
	object, err := o.storage.EncodedObject(plumbing.AnyObject, hash)
	switch {
	case err != nil:
		return nil, &damageError{hash, err}
	case object.Type() != plumbing.BlobObject:
		return nil, &damageError{hash, errHash}
	case object.Size() > limit:
		return nil, fmt.Errorf("%w: file %s has %d bytes, the limit is %d", errTooBig, hash, object.Size(), limit)
	}
	return object, nil
}

// write copies an object. Unless it returns nil nothing that was written may be relied on.
func (o *objects) write(w io.Writer, object plumbing.EncodedObject, hash plumbing.Hash) (err error) {
	r, err := object.Reader()
	if err != nil {
		return &damageError{hash, err}
	}
	defer func() {
		if closing := r.Close(); err == nil && closing != nil {
			err = &damageError{hash, closing}
		}
	}()
	hasher := plumbing.NewHasher(object.Type(), object.Size())
	out := &outcome{w: w}
	n, err := io.Copy(io.MultiWriter(hasher, out), r)
	switch {
	case out.err != nil:
		return out.err
	case err != nil:
		return &damageError{hash, err}
	case n != object.Size() || hasher.Sum() != hash:
		return &damageError{hash, errHash}
	}
	return nil
}

// outcome tells failures to write from those to read.
type outcome struct {
	w   io.Writer
	err error
}

func (o *outcome) Write(b []byte) (int, error) {
	n, err := o.w.Write(b)
	o.err = err
	return n, err
}

// peel follows tags to the commit that they are for.
func (o *objects) peel(hash plumbing.Hash) (plumbing.Hash, error) {
	for range 5 {
		kind, content, err := o.read(hash, maxText)
		switch {
		case err != nil:
			return plumbing.ZeroHash, err
		case kind == plumbing.CommitObject:
			return hash, nil
		case kind != plumbing.TagObject:
			return plumbing.ZeroHash, &refError{text: fmt.Sprintf("the reference leads to %s, which is not a commit", hash)}
		}
		if hash, err = headerHash(content, "object"); err != nil {
			return plumbing.ZeroHash, err
		}
	}
	return plumbing.ZeroHash, &refError{text: "the reference is a tag of a tag of a tag"}
}

// headerHash reads the hash in one of the lines that a commit or tag begins with.
func headerHash(content []byte, name string) (plumbing.Hash, error) {
	for line := range bytes.Lines(content) {
		if len(bytes.TrimSpace(line)) == 0 {
			break
		}
		if text, is := strings.CutPrefix(string(line), name+" "); is {
			text = strings.TrimSuffix(text, "\n")
			if hash := plumbing.NewHash(text); hash.String() == text {
				return hash, nil
			}
		}
	}
	return plumbing.ZeroHash, fmt.Errorf("%w: a commit or tag does not say its %s", errNotGit, name)
}

// root returns the hash of a commit's tree.
func (o *objects) root(commit plumbing.Hash) (plumbing.Hash, error) {
	kind, content, err := o.read(commit, maxText)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	if kind != plumbing.CommitObject {
		return plumbing.ZeroHash, &refError{text: fmt.Sprintf("%s is not a commit", commit)}
	}
	return headerHash(content, "tree")
}

// treeEntry is one line of a directory's list.
type treeEntry struct {
	mode string
	name string
	hash plumbing.Hash
}

const (
	modeDir       = "40000"
	modeLink      = "120000"
	modeSubmodule = "160000"
)

// tree reads the list of a directory.
func (o *objects) tree(hash plumbing.Hash) ([]treeEntry, error) {
	kind, content, err := o.read(hash, maxListing)
	if err != nil {
		return nil, err
	}
	if kind != plumbing.TreeObject {
		return nil, &damageError{hash, errHash}
	}
	var entries []treeEntry
	for len(content) > 0 {
		mode, rest, ok := bytes.Cut(content, []byte{' '})
		name, rest, more := bytes.Cut(rest, []byte{0})
		if !ok || !more || len(rest) < 20 {
			return nil, &damageError{hash, errors.New("it is not a tree")}
		}
		entries = append(entries, treeEntry{mode: string(mode), name: string(name), hash: plumbing.Hash(rest[:20])})
		content = rest[20:]
	}
	return entries, nil
}
