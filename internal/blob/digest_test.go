// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package blob

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestDigestsOfHiddenTexts(t *testing.T) {
	open := func(dir string) func(owner, text string) string {
		identity, err := LoadOrCreateKey(filepath.Join(dir, "key"))
		if err != nil {
			t.Fatal(err)
		}
		s, err := Open(t.Context(), "file://"+filepath.Join(dir, "blobs"), identity)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s.Digest
	}
	dir := t.TempDir()
	one, again, other := open(dir), open(dir), open(t.TempDir())
	a := one("uid-a", "text")
	if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{8}$`).MatchString(a) || again("uid-a", "text") != a || again("uid-a", "other") == a {
		t.Errorf("got %s, then %s and %s", a, again("uid-a", "text"), again("uid-a", "other"))
	}
	key, digest, _ := strings.Cut(a, "-")
	for what, is := range map[string]string{"another owner": one("uid-b", "text"), "another store": other("uid-a", "text")} {
		if strings.Contains(is, key) || strings.Contains(is, digest) {
			t.Errorf("%s: %s and %s", what, a, is)
		}
	}
}
