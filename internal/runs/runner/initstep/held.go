// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package initstep

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/yuba-dev/yuba/internal/registry/providers"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// keepProviders holds the packages of the store that an earlier init has linked to. It reports false when one of them is
// gone: then init has to run again.
func (s *providerStep) keepProviders() bool {
	scope := s.downloads.providerScope()
	for _, target := range workspace.LinksBelow(s.site.Space.Root.Root, s.site.Space.Module) {
		if _, err := os.Stat(target); err != nil {
			return false
		}
		if scope == nil {
			continue
		}
		relative, err := filepath.Rel(scope.Mirror(), target)
		parts := strings.Split(filepath.ToSlash(relative), "/")
		if err != nil || len(parts) != 5 || parts[0] == ".." {
			continue
		}
		a, err := providers.ParseAddress(strings.Join(parts[:3], "/"), "")
		if err != nil {
			continue
		}
		held, err := scope.Hold(a, parts[3])
		if err != nil || held == nil {
			return false
		}
		s.providing.packages = append(s.providing.packages, held)
	}
	return true
}
