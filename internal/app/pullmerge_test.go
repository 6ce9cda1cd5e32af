// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestChangedFilesAreMerged: a file can become a directory, and the reverse, and a submodule is named by its directory
// and by its files.
func TestChangedFilesAreMerged(t *testing.T) {
	base := map[string]string{"same.tf": "base", "changed.tf": "base", "gone.tf": "base", "file": "base", "dir/a.tf": "base", "module/a.tf": "base", "module/gone.tf": "base", "theirs/new.tf": "base"}
	head := map[string]string{"same.tf": "old", "changed.tf": "head", "new/deep/a.tf": "head", "file/a.tf": "head", "dir": "head", "module/a.tf": "head"}
	want := map[string]string{"same.tf": "base", "changed.tf": "head", "new/deep/a.tf": "head", "file/a.tf": "head", "dir": "head", "module/a.tf": "head", "theirs/new.tf": "base"}
	changed := []string{"changed.tf", "gone.tf", "file", "file/a.tf", "dir", "dir/a.tf", "module", "module/a.tf", "module/gone.tf", "new/deep/a.tf", "nowhere/at/all", "../../outside", ".", "/etc/passwd"}
	reversed := slices.Clone(changed)
	slices.Reverse(reversed)
	for _, order := range [][]string{changed, reversed} {
		dir := t.TempDir()
		for tree, files := range map[string]map[string]string{"base": base, "head": head} {
			for name, content := range files {
				path := filepath.Join(dir, tree, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := merge(dir, order); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		err := fs.WalkDir(os.DirFS(filepath.Join(dir, "base")), ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			content, err := os.ReadFile(filepath.Join(dir, "base", path))
			got[path] = string(content)
			return err
		})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Error(err, diff)
		}
	}
}
