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
	"time"

	"github.com/gofrs/flock"
)

func TestADirectoryOfAnotherUserIsRefused(t *testing.T) {
	own, others := t.TempDir(), "/"
	if os.Geteuid() == 0 {
		others = t.TempDir()
		if err := os.Chown(others, 12345, -1); err != nil {
			t.Fatal(err)
		}
	}
	if err := Dir(own).CheckOwner(); err != nil {
		t.Error(err)
	}
	var refused *RefusedError
	if err := Dir(others).CheckOwner(); !errors.As(err, &refused) || !strings.Contains(err.Error(), "\n    sudo -u '#") {
		t.Errorf("error %v, want a refusal", err)
	}
}

func TestFilesOfAnotherUserAreARefusal(t *testing.T) {
	err := Dir("/my data").Unusable(fmt.Errorf("open keys/ca.key: %w", syscall.EACCES))
	var refused *RefusedError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "open keys/ca.key: permission denied") || !strings.Contains(err.Error(), "\n    chown -R USER: '/my data'") {
		t.Errorf("error %v", err)
	}
	if err := errors.New("another one"); Dir("/d").Unusable(err) != err {
		t.Error("an error that is none of these was changed")
	}
}

func TestQuoted(t *testing.T) {
	for path, want := range map[string]string{
		"/var/lib/yuba-2": "/var/lib/yuba-2",
		"/my data/yuba":   "'/my data/yuba'",
		"/it's/$HOME":     `'/it'\''s/$HOME'`,
		"/größe":          "'/größe'",
	} {
		if got := Quoted(path); got != want {
			t.Errorf("%s becomes %s, want %s", path, got, want)
		}
	}
}

func TestHeldLooksAndDoesNotTake(t *testing.T) {
	dir := Dir(t.TempDir())
	held := func(what string, want bool) {
		t.Helper()
		if got, err := dir.Held(); err != nil || got != want {
			t.Errorf("%s: held %v, %v", what, got, err)
		}
	}
	held("nobody was ever there", false)
	if _, err := os.Stat(filepath.Join(string(dir), "lock")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a look left a file: %v", err)
	}
	lock, err := dir.Lock()
	if err != nil {
		t.Fatal(err)
	}
	held("somebody has it", true)
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	held("it was released", false)
}

// A check whether Yuba runs takes the lock for a moment. It must not keep Yuba from starting.
func TestAStartOutlastsALook(t *testing.T) {
	dir := Dir(t.TempDir())
	path := filepath.Join(string(dir), "lock")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	look := flock.New(path)
	if ok, err := look.TryRLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	time.AfterFunc(lookPatience/4, func() { _ = look.Close() })
	lock, err := dir.Lock()
	if err != nil {
		t.Fatalf("the start fails: %v", err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
}
