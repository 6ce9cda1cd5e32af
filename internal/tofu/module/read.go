// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
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

// extension returns the extension that makes a file configuration.
func extension(name string) string {
	if strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") ||
		strings.HasPrefix(name, "#") && strings.HasSuffix(name, "#") {
		return ""
	}
	extensions := []string{".tf.json", ".tofu.json", ".tf", ".tofu"}
	if i := slices.IndexFunc(extensions, func(ext string) bool { return strings.HasSuffix(name, ext) }); i >= 0 {
		return extensions[i]
	}
	return ""
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
// are replaced by .tofu files. Both lists are sorted.
func selectFiles(files map[string][]byte) (primary, override []string) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
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
	return primary, override
}
