// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package blob

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestAChangedObjectHasAnotherVersion(t *testing.T) {
	plains(t, func(t *testing.T, p *Plain) {
		version := func() string {
			t.Helper()
			r, err := p.Open(t.Context(), "a/b")
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close() //nolint:errcheck // a test
			return Version(r)
		}
		put := func(text string) {
			t.Helper()
			if err := p.Put(t.Context(), "a/b", strings.NewReader(text)); err != nil {
				t.Fatal(err)
			}
		}
		put("one")
		before := version()
		if before == "" || version() != before {
			t.Errorf("%q, and then %q", before, version())
		}
		put("two")
		if version() == before {
			t.Errorf("still %q", before)
		}
	})
}

// A program that changes a file can set its modification time back, but not the time of the change.
func TestAFileThatIsChangedInPlaceHasAnotherVersion(t *testing.T) {
	dir := t.TempDir()
	p, err := OpenPlain(t.Context(), "file://"+dir)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close() //nolint:errcheck // a test
	path, then := filepath.Join(dir, "a"), time.Now().Add(-time.Hour)
	written := func(text string) string {
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteString(text); err != nil || file.Close() != nil || os.Chtimes(path, then, then) != nil {
			t.Fatal(err)
		}
		r, err := p.Open(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close() //nolint:errcheck // a test
		return Version(r)
	}
	first := written("one")
	// The clock of a file system has steps: two changes within one are not distinguished.
	for end := time.Now().Add(10 * time.Second); written("two") == first; {
		if time.Now().After(end) {
			t.Fatalf("a changed file still has version %s", first)
		}
	}
}
