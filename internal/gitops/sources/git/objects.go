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

	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
)

// maxText limits commits, tags and configuration files, maxListing the list of a directory: about
// 400 000 names.
const (
	maxText    = 1 << 20
	maxListing = 16 << 20
)

// damageError means that an object is missing or does not match its hash.
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

// objects reads and verifies a repository's objects. It is for one goroutine.
type objects struct {
	storage *filesystem.Storage
}

// openObjects opens the bare repository in dir, without links out of it and alternates.
func openObjects(dir string) *objects {
	return &objects{filesystem.NewStorageWithOptions(osfs.New(dir, osfs.WithBoundOS()), cache.NewObjectLRU(16*cache.MiByte),
		filesystem.Options{KeepDescriptors: true, LargeObjectThreshold: 1 << 20})}
}

func (o *objects) Close() error { return o.storage.Close() }

// read returns an object of at most limit bytes.
func (o *objects) read(hash plumbing.Hash, limit int64) (plumbing.ObjectType, []byte, error) {
	object, err := o.storage.EncodedObject(plumbing.AnyObject, hash)
	if err != nil {
		return 0, nil, &damageError{hash, err}
	}
	if object.Size() > limit {
		return 0, nil, tooBig("object %s has %d bytes, the limit is %d", hash, object.Size(), limit)
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
		return nil, tooBig("file %s has %d bytes, the limit is %d", hash, object.Size(), limit)
	}
	return object, nil
}

// write copies an object. After an error, the written data must not be used.
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

// outcome distinguishes failures to write from failures to read.
type outcome struct {
	w   io.Writer
	err error
}

func (o *outcome) Write(b []byte) (int, error) {
	n, err := o.w.Write(b)
	o.err = err
	return n, err
}

// peel follows tags to their commit.
func (o *objects) peel(hash plumbing.Hash) (plumbing.Hash, error) {
	for range 5 {
		kind, content, err := o.read(hash, maxText)
		switch {
		case err != nil:
			return plumbing.ZeroHash, err
		case kind == plumbing.CommitObject:
			return hash, nil
		case kind != plumbing.TagObject:
			return plumbing.ZeroHash, &upstream.Problem{Text: fmt.Sprintf("the reference leads to %s, which is not a commit", hash), Content: true}
		}
		if hash, err = headerHash(content, "object"); err != nil {
			return plumbing.ZeroHash, err
		}
	}
	return plumbing.ZeroHash, wrongRef("the reference is a tag of a tag of a tag")
}

// header returns the first header of a commit or tag with a name; empty if there is none.
func header(content []byte, name string) string {
	for line := range bytes.Lines(content) {
		text := strings.TrimSuffix(string(line), "\n")
		if text == "" {
			break
		}
		if value, is := strings.CutPrefix(text, name+" "); is {
			return value
		}
	}
	return ""
}

// headerHash returns the hash in a header of a commit or tag.
func headerHash(content []byte, name string) (plumbing.Hash, error) {
	text := header(content, name)
	if hash := plumbing.NewHash(text); hash.String() == text {
		return hash, nil
	}
	return plumbing.ZeroHash, fmt.Errorf("%w: a commit or tag lacks its %s", errNotGit, name)
}

// root returns the hash of a commit's tree.
func (o *objects) root(commit plumbing.Hash) (plumbing.Hash, error) {
	kind, content, err := o.read(commit, maxText)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	if kind != plumbing.CommitObject {
		return plumbing.ZeroHash, wrongRef("%s is not a commit", commit)
	}
	return headerHash(content, "tree")
}

// treeEntry is one entry of a directory.
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

// tree returns the entries of a directory.
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
