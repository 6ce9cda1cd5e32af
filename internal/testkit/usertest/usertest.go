// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package usertest lets a test that root runs meet files as a user whom their modes concern.
package usertest

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// User is whom the test becomes. Nobody is logged in as that user.
const User = 65533

// Become has the test's goroutine, and no other one, meet files as [User] until the test ends. The user owns the given
// directories and can reach them. Nothing changes for a test that root does not run: modes concern it anyway.
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
		_, _ = unix.SetfsuidRetUid(0) // the thread was root's
		runtime.UnlockOSThread()
	})
}
