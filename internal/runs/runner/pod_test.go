// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSpoiledModesAreRestored(t *testing.T) {
	dir := t.TempDir()
	files := map[string]os.FileMode{"runner/lock": 0o600, "work/team/vpc/main.tf": 0o600, "providers/a/terraform-provider-a": 0o700}
	for name, mode := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	if healed, err := healTree(dir); healed != 0 || err != nil {
		t.Errorf("nothing was spoiled: %d, %v", healed, err)
	}
	link := filepath.Join(dir, "work", "link")
	if err := os.Symlink("/etc/passwd", link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"runner/lock", "providers/a/terraform-provider-a", "work/team/vpc", "work"} {
		if err := os.Chmod(filepath.Join(dir, name), 0); err != nil {
			t.Fatal(err)
		}
	}
	if healed, err := healTree(dir); healed != 4 || err != nil {
		t.Errorf("healed %d of 4: %v", healed, err)
	}
	for name, mode := range map[string]os.FileMode{"runner/lock": 0o400, "work/team/vpc": 0o700, "providers/a/terraform-provider-a": 0o500} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm()&mode != mode {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}
