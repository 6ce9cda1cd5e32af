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
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/decrypt"
)

// PathError says that spec.path does not lead to a directory of the artifact.
type PathError struct {
	Path   string
	Reason string
}

func (e *PathError) Error() string {
	return fmt.Sprintf("kustomization path not found: %q of spec.path %s", e.Path, e.Reason)
}

// tree is the file system that kustomize sees: what lies below root, read only, within limits, and with those files
// opened that generators read and sops encrypted.
type tree struct {
	filesys.FileSystem
	root, dir string
	keys      *decrypt.Keys
	// opened says how the files are written that are to be decrypted when they are read.
	opened map[string]decrypt.Format
	// objects are the files that are read as objects: what is encrypted in them is verified.
	objects map[string]bool
	// made are files that are not on disk: the kustomization with what the object adds, and decrypted files.
	made map[string][]byte
	// seen are the files that were read and count.
	seen         map[string]bool
	bytes, nodes int
	// failure is the first error in reading that says more than what kustomize makes of it.
	failure error
}

var errReadOnly = errors.New("an artifact is only read")

// openTree finds the directory that is built.
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
	t := &tree{FileSystem: base, root: root, keys: keys, opened: map[string]decrypt.Format{}, objects: map[string]bool{}, made: map[string][]byte{}, seen: map[string]bool{}}
	// Whatever climbs above the root is the root, as with Flux.
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

// name is how a path is called in errors: relative to the root.
func (t *tree) name(path string) string {
	name, err := filepath.Rel(t.root, path)
	if err != nil {
		return filepath.Base(path)
	}
	return name
}

// clean takes the root out of what others have to say.
func (t *tree) clean(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, t.root+"/", ""), t.root, ".")
}

// real follows links and refuses those that lead out.
func (t *tree) real(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	if real != t.root && !strings.HasPrefix(real, t.root+string(filepath.Separator)) {
		return "", fmt.Errorf("%s leads out of the artifact", t.name(path))
	}
	return real, nil
}

// isFile tells whether there is a file at a path, and isDir whether there is a directory.
func (t *tree) isFile(path string) bool {
	real, err := t.real(path)
	if err != nil {
		return false
	}
	info, err := os.Lstat(real)
	return err == nil && info.Mode().IsRegular()
}

func (t *tree) isDir(path string) bool {
	real, err := t.real(path)
	if err != nil {
		return false
	}
	info, err := os.Lstat(real)
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
	// kustomize tries names that may not be there.
	if err != nil && t.failure == nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errNoFile) {
		t.failure = err
	}
	return data, err
}

// errNoFile is the answer for what is there and is no file.
var errNoFile = errors.New("is not a file")

func (t *tree) read(path string) ([]byte, error) {
	real, err := t.real(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Lstat(real)
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

// count adds a file to what the build has read and checks what it would become in memory.
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

// open decrypts what a generator reads, and verifies what is decrypted later.
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

// Exists tells whether there is a file or a directory.
func (t *tree) Exists(path string) bool {
	_, made := t.made[path]
	return made || t.FileSystem.Exists(path)
}

// Open is not used by kustomize to read what it builds.
func (t *tree) Open(path string) (filesys.File, error) {
	return nil, fmt.Errorf("open %s: read it whole", t.name(path))
}

// Create refuses to write.
func (t *tree) Create(string) (filesys.File, error) { return nil, errReadOnly }

// Mkdir refuses to write.
func (t *tree) Mkdir(string) error { return errReadOnly }

// MkdirAll refuses to write.
func (t *tree) MkdirAll(string) error { return errReadOnly }

// RemoveAll refuses to write.
func (t *tree) RemoveAll(string) error { return errReadOnly }

// WriteFile refuses to write.
func (t *tree) WriteFile(string, []byte) error { return errReadOnly }
