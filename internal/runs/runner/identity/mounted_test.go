// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/yuba-dev/yuba/internal/kit/mask"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// mount replaces a token as the kubelet does: it moves a link to another directory.
func mount(t *testing.T, volume string, number int) (token string) {
	t.Helper()
	token = fmt.Sprintf("eyJhbGciOiJSUzI1NiJ9.token-%06d", number)
	dir := fmt.Sprintf("..%d", number)
	if err := os.MkdirAll(filepath.Join(volume, dir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(volume, dir, "token"), []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir, filepath.Join(volume, "new")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(volume, "new"), filepath.Join(volume, "..data")); err != nil {
		t.Fatal(err)
	}
	return token
}

// The kubelet says nothing when it replaces a token, and a program may print it at once.
func TestATokenThatTheKubeletReplacedIsMaskedAtOnce(t *testing.T) {
	volume := t.TempDir()
	masker := mask.New().Masker(mask.Mark)
	before := mount(t, volume, 0)
	m := watch(masker, []run.Identity{{Audience: "cloud"}}, func(run.Identity) string { return filepath.Join(volume, "..data", "token") })
	defer m.close()
	for number := 1; number <= 50; number++ {
		token := mount(t, volume, number)
		if shown := masker.Text("old " + before + " new " + token); shown != "old (sensitive) new (sensitive)" {
			t.Fatalf("after %d replacements: %s", number, shown)
		}
		before = token
	}
}
