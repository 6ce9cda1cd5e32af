// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/nearest"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// Conventions are the directories whose subdirectories are environments, without a word in yuba.yaml.
var Conventions = []string{"environments", "tofu/environments", "deploy/tofu/environments"}

// Limits of a catalog.
const (
	maxEnvironments = 1000
	maxDepth        = 4
)

// Environment is a root module with a name.
type Environment struct {
	Name string `json:"name"`
	// Dir is the root module, relative to the library's root.
	Dir string `json:"dir"`
	// Target is the preset that the environment is made for; empty if yuba.yaml says nothing.
	Target string `json:"target,omitempty"`
	// VarFiles are files of values, relative to the library's root, besides those that tofu reads itself.
	VarFiles []string `json:"varFiles,omitempty"`
	// Workspace is tofu's workspace; empty for the default one.
	Workspace string `json:"workspace,omitempty"`
	// Stack is the stack of the environment on a server, NAMESPACE/NAME or NAME.
	Stack string `json:"stack,omitempty"`
	// Writable are directories of the library that the program may write, besides its own.
	Writable []string `json:"writable,omitempty"`
}

// Catalog has the environments of a library.
type Catalog struct {
	// Root is the library's root, absolute.
	Root string
	// Environments are sorted by name.
	Environments []Environment
}

// NoLibraryError says that a directory is in no library.
type NoLibraryError struct{ Dir string }

func (e *NoLibraryError) Error() string {
	return fmt.Sprintf("find the environments: neither %s nor a directory above it has %s or %s. Go to your repository, name it with --library DIR, or make an environment:\n    yuba new environment staging",
		e.Dir, strings.Join(Conventions, "/, ")+"/", FileName)
}

// Find opens the library that a directory is in: the nearest directory upwards with yuba.yaml, else one
// with a conventional directory: the outermost in a git repository, and the nearest outside of one.
func Find(dir string) (*Catalog, error) {
	at, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find the environments: %w", err)
	}
	var roots []string
	for start := at; ; at = filepath.Dir(at) {
		if info, err := os.Stat(filepath.Join(at, FileName)); err == nil && info.Mode().IsRegular() {
			return Open(at)
		}
		if isRoot(at) {
			roots = append(roots, at)
		}
		_, err := os.Lstat(filepath.Join(at, ".git"))
		switch {
		case err == nil && len(roots) > 0:
			return Open(roots[len(roots)-1])
		case err != nil && at != filepath.Dir(at):
			continue
		case len(roots) > 0:
			return Open(roots[0])
		}
		return nil, &NoLibraryError{Dir: start}
	}
}

// isRoot reports whether a directory has a conventional directory.
func isRoot(dir string) bool {
	return slices.ContainsFunc(Conventions, func(name string) bool {
		info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name)))
		return err == nil && info.IsDir()
	})
}

// Open reads the catalog of the library with this root.
func Open(root string) (*Catalog, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("read the environments: %w", err)
	}
	opened, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("read the environments: %w", err)
	}
	defer opened.Close()
	c := &Catalog{Root: root}
	if c.Environments, err = Read(opened.FS()); err != nil {
		return nil, fmt.Errorf("read the environments of %s: %w", root, err)
	}
	return c, nil
}

// Read reads the environments of a tree. The file system must not follow links out of it.
func Read(fsys fs.FS) ([]Environment, error) {
	file, err := readFile(fsys)
	if err != nil {
		return nil, err
	}
	found := map[string]Environment{}
	for _, dir := range slices.Concat(Conventions, file.Directories) {
		if err := look(fsys, path.Clean(dir), found); err != nil {
			return nil, err
		}
	}
	if err := file.addTo(fsys, found); err != nil {
		return nil, err
	}
	list := make([]Environment, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		list = append(list, found[name])
	}
	return list, nil
}

// look finds the root modules below a directory. What is below a root module belongs to it.
func look(fsys fs.FS, dir string, found map[string]Environment) error {
	return fs.WalkDir(fsys, dir, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !entry.IsDir():
			return nil
		}
		relative := strings.TrimPrefix(strings.TrimPrefix(name, dir), "/")
		if strings.HasPrefix(path.Base(name), ".") && name != "." || strings.Count(relative, "/") >= maxDepth {
			return fs.SkipDir
		}
		if relative == "" || !hasModule(fsys, name) {
			return nil
		}
		if other, there := found[relative]; there && other.Dir != name {
			return fmt.Errorf("%s and %s are both named %q: give one of them another name in %s", other.Dir, name, relative, FileName)
		}
		if len(found) == maxEnvironments {
			return fmt.Errorf("there are more than %d environments", maxEnvironments)
		}
		found[relative] = Environment{Name: relative, Dir: name}
		return fs.SkipDir
	})
}

// hasModule reports whether a directory has configuration, not only values.
func hasModule(fsys fs.FS, dir string) bool {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return e.Type().IsRegular() && module.IsConfigFile(e.Name()) && !strings.Contains(e.Name(), ".tfvars")
	})
}

// UnknownError says that there is no such environment.
type UnknownError struct {
	Name, Root, Nearest string
	Known               []string
}

func (e *UnknownError) Error() string {
	text := fmt.Sprintf("there is no environment %q in %s", e.Name, e.Root)
	switch {
	case e.Nearest != "":
		text += "; did you mean " + e.Nearest + "?"
	case len(e.Known) > 0:
		text += ". It has " + strings.Join(e.Known[:min(len(e.Known), 10)], ", ")
	}
	return text
}

// Named returns an environment by its name, or by its directory relative to the library or to cwd.
func (c *Catalog) Named(name, cwd string) (Environment, error) {
	var names []string
	for _, e := range c.Environments {
		if e.Name == name || e.Dir == path.Clean(filepath.ToSlash(name)) || filepath.Join(c.Root, filepath.FromSlash(e.Dir)) == filepath.Join(cwd, name) {
			return e, nil
		}
		names = append(names, e.Name)
	}
	return Environment{}, &UnknownError{Name: name, Root: c.Root, Nearest: nearest.Word(name, names, 2), Known: names}
}
