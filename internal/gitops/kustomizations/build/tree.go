// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	securefs "github.com/fluxcd/pkg/kustomize/filesys"

	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/decrypt"
	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/kustomize"
)

// PathError means that spec.path does not lead to a directory of the artifact.
type PathError struct {
	Path   string
	Reason string
}

func (e *PathError) Error() string {
	return fmt.Sprintf("kustomization path not found: %q of spec.path %s", e.Path, e.Reason)
}

// tree is kustomize's file system: everything below root, read only and limited. It decrypts files
// that generators and patches read.
type tree struct {
	kustomize.ReadOnly
	root, dir string
	keys      *decrypt.Keys
	// opened are the formats of files to decrypt when they are read.
	opened map[string]decrypt.Format
	// objects are the files with objects, whose encrypted parts are verified.
	objects map[string]bool
	// made are files that are not on disk: the extended kustomization, and decrypted files.
	made map[string][]byte
	// seen are the counted files.
	seen         map[string]bool
	bytes, nodes int
	// failure is the first read error. It is more precise than kustomize's error.
	failure error
}

// openTree finds the directory to build.
func openTree(root, path string, keys *decrypt.Keys) (*tree, error) {
	root, err := filepath.Abs(root)
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		return nil, fmt.Errorf("open the artifact's files: %w", err)
	}
	base, err := securefs.MakeFsOnDiskSecure(root)
	if err != nil {
		return nil, fmt.Errorf("open the artifact's files: %w", err)
	}
	t := &tree{ReadOnly: kustomize.ReadOnly{FileSystem: base}, root: root, keys: keys, opened: map[string]decrypt.Format{}, objects: map[string]bool{}, made: map[string][]byte{}, seen: map[string]bool{}}
	// As in Flux, a path above the root means the root.
	dir, err := t.real(filepath.Join(root, filepath.Join("/", path)))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &PathError{path, "is not in the artifact"}
	case err != nil:
		return nil, &PathError{path, "leads out of the artifact"}
	}
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return nil, &PathError{path, "is not a directory"}
	}
	t.dir = dir
	return t, nil
}

// name returns a path for errors, relative to the root.
func (t *tree) name(path string) string {
	name, err := filepath.Rel(t.root, path)
	if err != nil {
		return filepath.Base(path)
	}
	return name
}

// clean removes the root from errors of libraries.
func (t *tree) clean(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, t.root+"/", ""), t.root, ".")
}

// errOutside is a link out of the artifact.
var errOutside = errors.New("leads out of the artifact")

// real follows links, but not out of the artifact.
func (t *tree) real(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	if real != t.root && !strings.HasPrefix(real, t.root+string(filepath.Separator)) {
		return "", fmt.Errorf("%s %w", t.name(path), errOutside)
	}
	return real, nil
}

// stat describes the file or directory at a path.
func (t *tree) stat(path string) (real string, info os.FileInfo, err error) {
	if real, err = t.real(path); err == nil {
		info, err = os.Lstat(real)
	}
	return real, info, err
}

func (t *tree) isFile(path string) bool {
	_, info, err := t.stat(path)
	return err == nil && info.Mode().IsRegular()
}

func (t *tree) isDir(path string) bool {
	_, info, err := t.stat(path)
	return err == nil && info.IsDir()
}

// ReadFile reads a file of the tree.
func (t *tree) ReadFile(path string) ([]byte, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if data, ok := t.made[path]; ok {
		return data, nil
	}
	data, err := t.read(path)
	// kustomize also tries names that need not exist.
	if err != nil && t.failure == nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errNoFile) {
		t.failure = err
	}
	return data, err
}

var errNoFile = errors.New("is not a file")

func (t *tree) read(path string) ([]byte, error) {
	real, info, err := t.stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w", t.name(path), errNoFile)
	}
	file, err := os.Open(real)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", t.name(path), err)
	}
	if err := t.count(path, data); err != nil {
		return nil, err
	}
	return t.open(path, data)
}

// count counts a file, and checks the limits of its size and its parsed size.
func (t *tree) count(path string, data []byte) error {
	if t.seen[path] {
		return nil
	}
	t.seen[path] = true
	t.bytes += len(data)
	name := t.name(path)
	if len(data) > maxFile {
		return &LimitError{Subject: name, Limit: fmt.Sprintf("%d MiB of one file", maxFile>>20)}
	}
	weight, err := weighYAML(name, data)
	t.nodes += weight
	switch {
	case err != nil:
		return err
	case len(t.seen) > maxFiles:
		return &LimitError{Subject: "the directory " + t.name(t.dir), Limit: fmt.Sprintf("%d files", maxFiles)}
	case t.bytes > maxBytes:
		return &LimitError{Subject: "the directory " + t.name(t.dir), Limit: fmt.Sprintf("%d MiB in all files", maxBytes>>20)}
	case t.nodes > maxNodes:
		return &LimitError{Subject: "the directory " + t.name(t.dir), Limit: fmt.Sprintf("%d values in all files", maxNodes)}
	case isKustomization(filepath.Base(path)):
		return checkKustomization(name, data)
	}
	return nil
}

// open decrypts generators' files and verifies files with objects, which are decrypted later.
func (t *tree) open(path string, data []byte) ([]byte, error) {
	if t.keys == nil {
		return data, nil
	}
	format, opened := t.opened[path]
	switch {
	case !opened && !t.objects[path]:
		return data, nil
	case !opened:
		if err := t.keys.Verify(data); err != nil {
			return nil, fmt.Errorf("decrypt %s: %w", t.name(path), err)
		}
		return data, nil
	}
	plain, err := t.keys.File(data, format)
	if err != nil {
		return nil, fmt.Errorf("decrypt %s: %w", t.name(path), err)
	}
	t.made[path] = plain
	return plain, nil
}

// Exists reports whether a file or a directory exists.
func (t *tree) Exists(path string) bool {
	_, made := t.made[path]
	return made || t.FileSystem.Exists(path)
}
