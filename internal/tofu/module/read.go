// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"sort"
	"strings"

	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// Limits of a root module. A parser needs a hundred times the size of a file of brackets; large
// modules have a few hundred KiB.
const (
	maxFiles     = 5000
	maxFileSize  = 2 << 20
	maxTotalSize = 8 << 20
)

// IsConfigFile reports whether tofu reads a file of this name automatically: configuration or
// values of variables.
func IsConfigFile(name string) bool {
	base := path.Base(name)
	return extension(base) != "" || assigns(base)
}

// assigns reports whether tofu reads values of variables from a file.
func assigns(name string) bool {
	return name == "terraform.tfvars" || name == "terraform.tfvars.json" ||
		strings.HasSuffix(name, ".auto.tfvars") || strings.HasSuffix(name, ".auto.tfvars.json")
}

// assigning returns the files with values, sorted.
func assigning(files map[string][]byte) []string {
	var names []string
	for name := range files {
		if assigns(name) {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}

// extension returns the extension that makes a file configuration.
func extension(name string) string {
	if strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") ||
		strings.HasPrefix(name, "#") && strings.HasSuffix(name, "#") {
		return ""
	}
	for _, ext := range []string{".tf.json", ".tofu.json", ".tf", ".tofu"} {
		if strings.HasSuffix(name, ext) {
			return ext
		}
	}
	return ""
}

// Read reads the module in directory dir of fsys ("." for its root). The list contains its errors;
// the module contains everything that could be read.
//
// Open an untrusted tree with [os.OpenRoot], whose FS does not follow links out of it.
func Read(fsys fs.FS, dir string) (*Module, diagnostic.List) {
	dir = path.Clean(dir)
	entries, err := fs.ReadDir(fsys, dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return empty(), complain("No such directory", fmt.Sprintf("The source does not contain the directory %q. Check spec.path.", dir))
	case err != nil:
		return empty(), complain("Directory cannot be read", fmt.Sprintf("Reading the module's directory %q: %v.", dir, err))
	}
	files := map[string][]byte{}
	total := 0
	for _, entry := range entries {
		name := entry.Name()
		if entry.IsDir() || !IsConfigFile(name) {
			continue
		}
		if len(files) == maxFiles {
			return empty(), complain("Too many files", fmt.Sprintf("The module has more than %d configuration files.", maxFiles))
		}
		content, err := readFile(fsys, path.Join(dir, name))
		if err != nil {
			return empty(), complain("File cannot be read", fmt.Sprintf("Reading %s: %v.", name, err))
		}
		files[name] = content
		if total += len(content); total > maxTotalSize {
			return empty(), complain("Module too large", fmt.Sprintf("The module's files have more than %d MiB.", maxTotalSize>>20))
		}
	}
	return Parse(files)
}

// readFile reads one byte more than allowed, so that Parse notices.
func readFile(fsys fs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(errors.New("it is not a regular file"), err)
	}
	return io.ReadAll(io.LimitReader(f, maxFileSize+1))
}

func empty() *Module {
	return &Module{
		Variables: map[string]*Variable{}, Outputs: map[string]*Output{},
		RequiredProviders: map[string]Provider{}, Assigned: map[string]Position{},
	}
}

func complain(summary, detail string) diagnostic.List {
	return diagnostic.List{{Severity: diagnostic.Error, Summary: summary, Detail: detail}}
}

// selectFiles divides a module's files into primary and override files, and drops .tf files that
// are replaced by .tofu files.
func selectFiles(files map[string][]byte) (primary, override []string) {
	for name := range files {
		ext := extension(name)
		if ext == "" {
			continue
		}
		base := strings.TrimSuffix(name, ext)
		if strings.HasPrefix(ext, ".tf") {
			if _, replaced := files[base+strings.Replace(ext, ".tf", ".tofu", 1)]; replaced {
				continue
			}
		}
		if base == "override" || strings.HasSuffix(base, "_override") {
			override = append(override, name)
		} else {
			primary = append(primary, name)
		}
	}
	sort.Strings(primary)
	sort.Strings(override)
	return primary, override
}
