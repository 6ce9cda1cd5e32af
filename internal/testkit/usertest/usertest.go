// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package usertest makes file modes apply to a test that runs as root.
package usertest

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// User is the user that the test becomes. No other process uses it.
const User = 65533

// Become makes the test's goroutine, and no other one, access files as [User] until the test ends.
// The user owns the given directories and can reach them. It does nothing if the test does not run
// as root.
func Become(t testing.TB, owned ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	for _, dir := range owned {
		if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chown(dir, User, User)); err != nil {
			t.Fatal(err)
		}
	}
	runtime.LockOSThread()
	if _, err := unix.SetfsuidRetUid(User); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = unix.SetfsuidRetUid(0) // back to root
		runtime.UnlockOSThread()
	})
}
