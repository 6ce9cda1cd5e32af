// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"bytes"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// tree is a file system of the configuration files of an archive, in memory.
type tree struct {
	files map[string][]byte
	// dirs has the names in each directory; true for directories. "." is the root.
	dirs map[string]map[string]bool
	// modules are the directories with configuration, besides values of variables.
	modules map[string]bool
}

func newTree() *tree {
	return &tree{files: map[string][]byte{}, dirs: map[string]map[string]bool{".": {}}, modules: map[string]bool{}}
}

func (t *tree) put(name string, text []byte) {
	t.files[name] = text
	if base := path.Base(name); module.IsConfigFile(base) && !isValueFile(base) {
		t.modules[path.Dir(name)] = true
	}
	for child, isDir := name, false; child != "."; child, isDir = path.Dir(child), true {
		parent := path.Dir(child)
		known := t.dirs[parent] != nil
		if !known {
			t.dirs[parent] = map[string]bool{}
		}
		t.dirs[parent][path.Base(child)] = isDir
		if known { // and so are those above it
			return
		}
	}
}

// below returns the part of a tree below a directory.
func (t *tree) below(dir string) *tree {
	part := newTree()
	for name, text := range t.files {
		if rest, ok := strings.CutPrefix(name, dir+"/"); ok {
			part.put(rest, text)
		}
	}
	return part
}

// in returns the files of one directory by base name.
func (t *tree) in(dir string) map[string][]byte {
	files := map[string][]byte{}
	for name, isDir := range t.dirs[dir] {
		if !isDir {
			files[name] = t.files[path.Join(dir, name)]
		}
	}
	return files
}

// isModule reports whether a directory has configuration, besides values of variables.
func (t *tree) isModule(dir string) bool { return t.modules[dir] }

// modulesBelow returns the directories with configuration below a directory, sorted.
func (t *tree) modulesBelow(dir string) []string {
	var found []string
	for name := range t.modules {
		if strings.HasPrefix(name, dir+"/") {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}

// Open implements fs.FS.
func (t *tree) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if text, ok := t.files[name]; ok {
		return &openFile{treeInfo{path.Base(name), int64(len(text)), 0o444}, bytes.NewReader(text)}, nil
	}
	if _, ok := t.dirs[name]; ok {
		return &openFile{treeInfo{path.Base(name), 0, fs.ModeDir | 0o555}, bytes.NewReader(nil)}, nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// ReadDir implements fs.ReadDirFS.
func (t *tree) ReadDir(name string) ([]fs.DirEntry, error) {
	children, ok := t.dirs[name]
	if !ok {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	var entries []fs.DirEntry
	for _, child := range slices.Sorted(maps.Keys(children)) {
		info := treeInfo{child, 0, fs.ModeDir | 0o555}
		if !children[child] {
			info = treeInfo{child, int64(len(t.files[path.Join(name, child)])), 0o444}
		}
		entries = append(entries, fs.FileInfoToDirEntry(info))
	}
	return entries, nil
}

type openFile struct {
	info treeInfo
	io.Reader
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFile) Close() error               { return nil }

type treeInfo struct {
	name string
	size int64
	mode fs.FileMode
}

func (i treeInfo) Name() string       { return i.name }
func (i treeInfo) Size() int64        { return i.size }
func (i treeInfo) Mode() fs.FileMode  { return i.mode }
func (i treeInfo) ModTime() time.Time { return time.Time{} }
func (i treeInfo) IsDir() bool        { return i.mode.IsDir() }
func (i treeInfo) Sys() any           { return nil }
