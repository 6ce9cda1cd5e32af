// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/archive"
)

// open opens mirrors in a new directory.
func open(t *testing.T, options Options) *Mirrors {
	t.Helper()
	m, err := Open(t.TempDir(), options)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// patient returns a context that ends before the timeout of the test run.
func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// look looks, and fails the test after an error.
func look(t *testing.T, m *Mirrors, up Upstream, want Want) *Found {
	t.Helper()
	found, err := m.Look(patient(t), up, want)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// fetched returns the fetched tree: names and contents, links as "-> target", empty directories as "/".
func fetched(t *testing.T, found *Found) map[string]string {
	t.Helper()
	dir := t.TempDir()
	if err := found.Fetch(patient(t), dir); err != nil {
		t.Fatal(err)
	}
	return treeOf(t, dir)
}

func treeOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	tree := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		switch {
		case entry.IsDir():
			children, err := os.ReadDir(path)
			if len(children) == 0 {
				tree[name] = "/"
			}
			return err
		case info.Mode()&os.ModeSymlink != 0:
			target, err := os.Readlink(path)
			tree[name] = "-> " + target
			return err
		}
		content, err := os.ReadFile(path)
		tree[name] = string(content)
		if info.Mode()&0o111 != 0 {
			tree[name] += " (executable)"
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// wantFailure checks that an error is a failure for a source's status with a reason and words, and
// without secrets.
func wantFailure(t *testing.T, err error, reason string, words ...string) *archive.FetchError {
	t.Helper()
	var failure *archive.FetchError
	if !errors.As(err, &failure) {
		t.Fatalf("the error is %v, want a failure with reason %s", err, reason)
	}
	if failure.Reason != reason {
		t.Errorf("the reason is %s, want %s: %v", failure.Reason, reason, err)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("the message does not contain %q: %v", word, err)
		}
	}
	for _, secret := range []string{"s3cret", "PRIVATE KEY"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the message contains a secret: %v", err)
		}
	}
	return failure
}
