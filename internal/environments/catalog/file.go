// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/yuba-dev/yuba/internal/kit/nearest"
)

// FileName is the file at the root of a library that names environments.
const FileName = "yuba.yaml"

// maxFile limits yuba.yaml.
const maxFile = 1 << 20

// file is yuba.yaml.
type file struct {
	// Directories have environments as their subdirectories, as the conventional ones.
	Directories  []string         `yaml:"directories"`
	Environments map[string]entry `yaml:"environments"`
}

// entry is an environment in yuba.yaml.
type entry struct {
	Path      string   `yaml:"path"`
	Target    string   `yaml:"target"`
	VarFiles  []string `yaml:"varFiles"`
	Workspace string   `yaml:"workspace"`
	Stack     string   `yaml:"stack"`
	Writable  []string `yaml:"writable"`
}

var (
	fileKeys  = []string{"directories", "environments"}
	entryKeys = []string{"path", "target", "varFiles", "workspace", "stack", "writable"}
)

// FileError is a mistake in yuba.yaml.
type FileError struct {
	Line int
	Text string
}

func (e *FileError) Error() string {
	if e.Line == 0 {
		return FileName + ": " + e.Text
	}
	return fmt.Sprintf("%s:%d: %s", FileName, e.Line, e.Text)
}

func mistake(line int, format string, args ...any) error {
	return &FileError{line, fmt.Sprintf(format, args...)}
}

// readFile reads yuba.yaml, if it is there.
func readFile(fsys fs.FS) (f file, err error) {
	opened, err := fsys.Open(FileName)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return f, err
	}
	defer opened.Close()
	text, err := io.ReadAll(io.LimitReader(opened, maxFile+1))
	switch {
	case err != nil:
		return f, err
	case len(text) > maxFile:
		return f, mistake(0, "it has more than %d MiB", maxFile>>20)
	}
	return parse(text)
}

// parse reads yuba.yaml strictly: a key that is misspelt must not be ignored.
func parse(text []byte) (f file, err error) {
	var document yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return f, nil
	} else if err != nil {
		return f, mistake(0, "%v", err)
	}
	if err := decoder.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return f, mistake(0, "it has more than one document")
	}
	root := document.Content[0]
	if err := known(root, fileKeys, "it"); err != nil {
		return f, err
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value != "environments" || root.Content[i+1].Kind != yaml.MappingNode {
			continue
		}
		list := root.Content[i+1]
		for j := 0; j+1 < len(list.Content); j += 2 {
			if name := list.Content[j]; !validName.MatchString(name.Value) {
				return f, mistake(name.Line, "the name %q is not valid: use letters, digits, \"-\", \"_\", \".\" and \"/\"", name.Value)
			}
			if list.Content[j+1].Tag == "!!null" {
				continue
			}
			if err := known(list.Content[j+1], entryKeys, "the environment "+list.Content[j].Value); err != nil {
				return f, err
			}
		}
	}
	if err := root.Decode(&f); err != nil {
		return f, mistake(0, "%s", strings.TrimPrefix(strings.Join(strings.Fields(err.Error()), " "), "yaml: unmarshal errors: "))
	}
	return f, nil
}

// known refuses keys of a mapping that have no meaning.
func known(node *yaml.Node, keys []string, what string) error {
	if node.Kind != yaml.MappingNode {
		return mistake(node.Line, "%s must be a mapping with the keys %s", what, strings.Join(keys, ", "))
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		if slices.Contains(keys, key.Value) {
			continue
		}
		hint := ". The keys are " + strings.Join(keys, ", ")
		if near := nearest.Word(key.Value, keys, 3); near != "" {
			hint = "; did you mean " + near + "?"
		}
		return mistake(key.Line, "%s cannot have the key %q%s", what, key.Value, hint)
	}
	return nil
}

var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*$`)

// addTo adds the environments of the file to those that were found, or changes these.
func (f *file) addTo(fsys fs.FS, found map[string]Environment) error {
	for _, dir := range f.Directories {
		if err := inside(dir, "directories"); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Environments)) {
		given := f.Environments[name]
		e := Environment{Name: name, Dir: found[name].Dir, Target: given.Target, VarFiles: given.VarFiles, Workspace: given.Workspace, Stack: given.Stack, Writable: given.Writable}
		what := "environments." + name
		if given.Path != "" {
			if err := inside(given.Path, what+".path"); err != nil {
				return err
			}
			e.Dir = path.Clean(given.Path)
		}
		if e.Dir == "" || !hasModule(fsys, e.Dir) {
			return mistake(0, "%s: there is no root module in %q. Set its path, relative to the file", what, cmp.Or(e.Dir, "environments/"+name))
		}
		for _, p := range slices.Concat(e.VarFiles, e.Writable) {
			if err := inside(p, what); err != nil {
				return err
			}
		}
		for _, p := range e.Writable {
			if path.Clean(p) == "." {
				return mistake(0, "%s.writable: %q is the root of the library. Name a directory of it", what, p)
			}
		}
		for other, there := range found { // the name in the file replaces the conventional one
			if there.Dir == e.Dir && other != name {
				delete(found, other)
			}
		}
		found[name] = e
	}
	return nil
}

// inside refuses paths that leave the library, and those in .git: git runs what it finds there outside of
// the sandbox.
func inside(name, what string) error {
	if slices.ContainsFunc(strings.Split(path.Clean(name), "/"), func(part string) bool { return strings.EqualFold(part, ".git") }) {
		return mistake(0, "%s: the path %q is in .git, which no program may have", what, name)
	}
	if !fs.ValidPath(path.Clean(name)) {
		return mistake(0, "%s: the path %q leaves the library. Paths are relative to the file", what, name)
	}
	return nil
}
