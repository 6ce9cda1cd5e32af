// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTheSourceOfADirectoryIsFound(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, made := range []string{"repo/.git", "repo/apps/web", "plain/apps/web"} {
		if err := os.MkdirAll(filepath.Join(dir, made), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct{ dir, path, root, below string }{
		"no path":                            {"repo/apps/web", "", "repo/apps/web", ""},
		"the end of the directory":           {"plain/apps/web", "./apps/web/", "plain", "/apps/web"},
		"another path in a git repository":   {"repo/apps/web", "./clusters/prod", "repo", "/apps/web"},
		"another path, and no repository":    {"plain/apps/web", "./clusters/prod", "plain/apps/web", ""},
		"a path that only looks like an end": {"plain/apps/web", "eb", "plain/apps/web", ""},
	} {
		t.Run(name, func(t *testing.T) {
			root, below, err := sourceOf(filepath.Join(dir, c.dir), c.path)
			if err != nil || root != filepath.Join(dir, c.root) || below != c.below {
				t.Errorf("%s, %s, %v", root, below, err)
			}
		})
	}
}
