// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package scaffold

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
)

//go:embed all:templates
var embedded embed.FS

// Kinds are what can be written.
var Kinds = []string{"module", "environment", "stack", "target", "contract"}

// Own are Yuba's templates, a directory for each kind.
func Own() fs.FS {
	own, err := fs.Sub(embedded, "templates")
	if err != nil {
		panic(fmt.Sprintf("%v. This is a bug in Yuba.", err))
	}
	return own
}

// Limits of a template.
const (
	maxFiles = 1000
	maxFile  = 1 << 20
)

// File is a file to write, relative to the library's root.
type File struct {
	Path    string
	Content []byte
	// Program files are executable.
	Program bool
}

var (
	validName   = regexp.MustCompile(`^[a-z][a-z0-9-]{0,50}$`)
	placeholder = regexp.MustCompile(`@([A-Z][A-Z_]*)@`)
)

// CheckName refuses names that not all of these can have.
func CheckName(name string) error {
	if !validName.MatchString(name) {
		return fmt.Errorf("the name %q is not valid: begin with a small letter, then use small letters, digits and \"-\", at most 51", name)
	}
	return nil
}

// Render fills the template of a kind.
func Render(templates fs.FS, kind string, values map[string]string) (files []File, err error) {
	err = fs.WalkDir(templates, kind, func(name string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && name == kind:
			return fmt.Errorf("there is no template %s/", kind)
		case err != nil:
			return err
		case e.IsDir():
			return nil
		case !e.Type().IsRegular():
			return fmt.Errorf("%s is not a regular file", name)
		case len(files) == maxFiles:
			return fmt.Errorf("the template has more than %d files", maxFiles)
		}
		content, program, err := read(templates, name)
		if err != nil {
			return err
		}
		at, err := fill(strings.TrimPrefix(name, kind+"/"), values)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		text, err := fill(string(content), values)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if !fs.ValidPath(at) || at == "." || slices.Contains(strings.Split(at, "/"), ".git") {
			return fmt.Errorf("%s would be written to %q, outside of the library", name, at)
		}
		files = append(files, File{at, []byte(text), program})
		return nil
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("the template %s/ has no files", kind)
	}
	return files, err
}

func read(fsys fs.FS, name string) (content []byte, program bool, err error) {
	file, err := fsys.Open(name)
	if err != nil {
		return nil, false, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, false, err
	}
	if content, err = io.ReadAll(io.LimitReader(file, maxFile+1)); err == nil && len(content) > maxFile {
		err = fmt.Errorf("%s has more than %d MiB", name, maxFile>>20)
	}
	return content, info.Mode()&0o111 != 0, err
}

// fill replaces the placeholders. One that is not known is an error: it would end up in a program.
func fill(text string, values map[string]string) (string, error) {
	unknown := ""
	filled := placeholder.ReplaceAllStringFunc(text, func(found string) string {
		value, there := values[strings.Trim(found, "@")]
		if !there {
			unknown = found
		}
		return value
	})
	if unknown != "" {
		return "", fmt.Errorf("the placeholder %s is not known", unknown)
	}
	return filled, nil
}

// Write writes the files below a root, all of them or none.
func Write(root *os.Root, files []File) error {
	for _, f := range files {
		if _, err := root.Lstat(f.Path); err == nil {
			return fmt.Errorf("%s is there already: choose another name, or remove it", f.Path)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	var written []string
	for _, f := range files {
		mode := fs.FileMode(0o644)
		if f.Program {
			mode = 0o755
		}
		err := root.MkdirAll(path.Dir(f.Path), 0o755)
		if err == nil {
			written = append(written, f.Path)
			err = root.WriteFile(f.Path, f.Content, mode)
		}
		if err != nil {
			for _, name := range written {
				err = errors.Join(err, ignoreMissing(root.Remove(name)))
			}
			return err
		}
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
