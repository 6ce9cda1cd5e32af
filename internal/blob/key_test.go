// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package blob

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestAKeyIsMadeOnceAndKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys", "blob.agekey")
	var once sync.Map
	var makers sync.WaitGroup
	for range 8 {
		makers.Go(func() {
			identity, err := LoadOrCreateKey(path)
			if err != nil {
				t.Error(err)
				return
			}
			once.Store(identity.String(), true)
		})
	}
	makers.Wait()
	count := 0
	once.Range(func(any, any) bool { count++; return true })
	if count != 1 {
		t.Errorf("%d keys were made", count)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("other files beside the key: %v, %v", entries, err)
	}
}

func TestAnUnusableKeyFileIsNamedAndNotShown(t *testing.T) {
	good := newIdentity(t).String()
	for name, file := range map[string]struct {
		text string
		mode os.FileMode
		want string
	}{
		"readable by others":       {good, 0o644, "chmod 600"},
		"damaged":                  {good[:40], 0o600, "restore it from a backup"},
		"two keys":                 {good + "\n" + newIdentity(t).String(), 0o600, "one age identity"},
		"empty":                    {"", 0o600, "one age identity"},
		"not a key of ours at all": {"hello", 0o600, "restore it from a backup"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "blob.agekey")
			if err := os.WriteFile(path, []byte(file.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, file.mode); err != nil {
				t.Fatal(err)
			}
			_, err := LoadOrCreateKey(path)
			if err == nil || !strings.Contains(err.Error(), file.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v, want it to say %q", err, file.want)
			}
			if err != nil && strings.Contains(err.Error(), good[:30]) {
				t.Errorf("the error shows the key: %v", err)
			}
		})
	}
}
