// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"time"
)

// node is a file, a directory or a symbolic link of an image.
type node struct {
	// kind is tar.TypeReg, tar.TypeDir or tar.TypeSymlink.
	kind byte
	// mode are the permissions; owner is the user and the group.
	mode  int64
	owner int
	// link is a link's target.
	link string
	// A file has its content, or its source on this machine.
	content []byte
	source  string
}

// tree maps paths without a leading slash to nodes. Missing directories belong to root.
type tree map[string]node

func (t tree) addDir(name string, mode int64, owner int) {
	t[name] = node{kind: tar.TypeDir, mode: mode, owner: owner}
}

func (t tree) addFile(name, content string) {
	t[name] = node{kind: tar.TypeReg, mode: 0o644, content: []byte(content)}
}

func (t tree) addProgram(name, source string) {
	t[name] = node{kind: tar.TypeReg, mode: 0o755, source: source}
}

func (t tree) addLink(name, target string) {
	t[name] = node{kind: tar.TypeSymlink, mode: 0o777, link: target}
}

// addParents adds the directories of all nodes.
func (t tree) addParents() {
	for _, name := range slices.Collect(maps.Keys(t)) {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, ok := t[dir]; !ok {
				t.addDir(dir, 0o755, 0)
			}
		}
	}
}

// write writes the tree as a tar archive, sorted by name and with the time 0.
func (t tree) write(to io.Writer) error {
	t.addParents()
	packed := tar.NewWriter(to)
	for _, name := range slices.Sorted(maps.Keys(t)) {
		if err := t[name].write(packed, name); err != nil {
			return fmt.Errorf("pack %s: %w", name, err)
		}
	}
	return packed.Close()
}

func (n node) write(to *tar.Writer, name string) error {
	header := &tar.Header{
		Name: name, Typeflag: n.kind, Mode: n.mode, Uid: n.owner, Gid: n.owner, Linkname: n.link, ModTime: time.Unix(0, 0),
	}
	if n.kind == tar.TypeDir {
		header.Name += "/"
	}
	if n.kind != tar.TypeReg {
		return to.WriteHeader(header)
	}
	content, size, err := n.open()
	if err != nil {
		return err
	}
	header.Size = size
	err = to.WriteHeader(header)
	if err == nil {
		_, err = io.Copy(to, content)
	}
	return errors.Join(err, content.Close())
}

// open opens a file's content, and returns its size.
func (n node) open() (io.ReadCloser, int64, error) {
	if n.source == "" {
		return io.NopCloser(bytes.NewReader(n.content)), int64(len(n.content)), nil
	}
	source, err := os.Open(n.source)
	if err != nil {
		return nil, 0, err
	}
	info, err := source.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, source.Close())
	}
	return source, info.Size(), nil
}
