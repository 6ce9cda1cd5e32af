// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/filetree"
)

// Mirrored lists the providers of a filesystem mirror, HOST/NAMESPACE/TYPE; none without a mirror.
func Mirrored(mirror string) ([]string, error) {
	if mirror == "" {
		return nil, nil
	}
	paths, err := filetree.Glob(mirror, "*/*/*")
	if err != nil {
		return nil, fmt.Errorf("look into the provider mirror %s: %w", mirror, err)
	}
	var out []string
	for _, path := range paths {
		if entries, err := os.ReadDir(path); err != nil || len(entries) == 0 {
			continue
		}
		relative, err := filepath.Rel(mirror, path)
		if err != nil {
			return nil, fmt.Errorf("look into the provider mirror %s: %w", mirror, err)
		}
		out = append(out, filepath.ToSlash(relative))
	}
	return out, nil
}

// HoldDir is [Scope.Hold] for a package's directory. It reports false if the directory is not one of
// the scope.
func (c *Scope) HoldDir(dir string) (p *Package, inScope bool, err error) {
	relative, err := filepath.Rel(c.Mirror(), dir)
	parts := strings.Split(filepath.ToSlash(relative), "/")
	if err != nil || len(parts) != 5 || parts[0] == ".." {
		return nil, false, nil //nolint:nilerr // it is elsewhere
	}
	a, err := ParseAddress(strings.Join(parts[:3], "/"), "")
	if err != nil {
		return nil, false, nil //nolint:nilerr // it is elsewhere
	}
	p, err = c.Hold(a, parts[3])
	return p, true, err
}
