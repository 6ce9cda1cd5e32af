// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// mounted mounts a file system of 8 MiB, when this user may.
func mounted(t *testing.T) (dir string, ok bool) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=8m"); err != nil {
		t.Logf("this user may not mount a file system (%v)", err)
		return dir, false
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir, true
}

func TestADirectoryThatTakesNoChangesIsRefused(t *testing.T) {
	dir, ok := mounted(t)
	want := "its file system is read-only"
	switch {
	case ok:
		if err := syscall.Mount("none", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, "size=8m"); err != nil {
			t.Fatal(err)
		}
	case os.Geteuid() != 0:
		// Permissions stop others than root.
		want = "this user cannot read and write all of its files"
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
	default:
		// Root without mounts: nothing can be made that stops it, so that only the words are looked
		// at.
		if err := Dir(dir).Unusable(fmt.Errorf("write: %w", syscall.EROFS)); !strings.Contains(err.Error(), want) {
			t.Error(err)
		}
		return
	}
	_, err := Open(dir)
	var refused *RefusedError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), want) || len(refused.Ways) == 0 {
		t.Errorf("error %v, want a refusal that says %q", err, want)
	}
}

func TestAFullFileSystemIsNamed(t *testing.T) {
	dir, ok := mounted(t)
	if !ok {
		// The machine's own has room for a start, or this test could not have been built.
		if err := Dir(dir).CheckRoom(true); err != nil {
			t.Errorf("error %v on a file system that is not full", err)
		}
		return
	}
	for _, begin := range []bool{true, false} {
		if err := Dir(dir).CheckRoom(begin); err == nil || !strings.Contains(err.Error(), "MiB left and a start needs") {
			t.Errorf("begin %v: error %v", begin, err)
		}
	}
	if err := Dir(filepath.Dir(dir)).CheckRoom(true); err != nil {
		t.Errorf("error %v on a file system that is not full", err)
	}
}
