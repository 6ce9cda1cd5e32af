// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOpenMakesAPrivateDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b")
	dir, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(string(dir))
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o700 {
		t.Errorf("mode %o, want 700", got)
	}
	if _, err := Open(path); err != nil {
		t.Errorf("open it again: %v", err)
	}
}

func TestOpenMakesAnExistingDirectoryPrivate(t *testing.T) {
	path := t.TempDir()
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o700 {
		t.Errorf("mode %o, want 700", got)
	}
}

func TestOpenTakesOnlyEmptyDirectories(t *testing.T) {
	for sentence, test := range map[string]struct {
		file string
		want string
	}{
		"somebody's files are left alone":             {"thesis.txt", "not empty"},
		"a new file system is empty":                  {"lost+found", ""},
		"what a killed first start leaves is nothing": {".version-123", ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			path := t.TempDir()
			if err := os.WriteFile(filepath.Join(path, test.file), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, 0o755); err != nil {
				t.Fatal(err)
			}
			_, err := Open(path)
			info, statErr := os.Stat(path)
			if statErr != nil {
				t.Fatal(statErr)
			}
			switch {
			case test.want == "" && err != nil:
				t.Errorf("error %v, want none", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("error %v, want one that says %q", err, test.want)
			case test.want != "" && info.Mode().Perm() != 0o755:
				t.Errorf("a refused directory has now mode %o", info.Mode().Perm())
			}
		})
	}
}

func TestFormat(t *testing.T) {
	for sentence, test := range map[string]struct{ content, want string }{
		"the format of today is opened":   {"1\n", ""},
		"a newer format is refused":       {"2\n", "A newer Yuba wrote it"},
		"something else is not a format":  {"one", "instead of a number"},
		"an empty file is not a format":   {"", "instead of a number"},
		"a much newer format is refused":  {"4711", "format 4711"},
		"an older format is opened as is": {"0", ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			path := t.TempDir()
			if err := os.WriteFile(filepath.Join(path, "version"), []byte(test.content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Open(path)
			switch {
			case test.want == "" && err != nil:
				t.Errorf("error %v, want none", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("error %v, want one that says %q", err, test.want)
			}
		})
	}
}

func TestAFormatThatIsGoneIsNamed(t *testing.T) {
	path := t.TempDir()
	for _, name := range []string{"keys", "etcd"} {
		if err := os.Mkdir(filepath.Join(path, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	_, err := Open(path)
	var refused *RefusedError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "version, which holds its format, is missing") || !strings.Contains(err.Error(), "\n    echo 1 >"+path) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(filepath.Join(path, "version")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a refused directory was given a format, %v", err)
	}
}

func TestSecondLockSaysWhoHoldsTheFirst(t *testing.T) {
	dir, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	lock, err := dir.Lock()
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Announce("127.0.0.1:7443"); err != nil {
		t.Fatal(err)
	}
	_, err = dir.Lock()
	var locked *LockedError
	if !errors.As(err, &locked) {
		t.Fatalf("error %v, want a LockedError", err)
	}
	if locked.Holder.PID != os.Getpid() || locked.Holder.Address != "127.0.0.1:7443" || locked.Holder.Since.IsZero() {
		t.Errorf("holder %+v", locked.Holder)
	}
	if !strings.Contains(err.Error(), "serving 127.0.0.1:7443") {
		t.Errorf("error %q does not name the address", err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	again, err := dir.Lock()
	if err != nil {
		t.Fatalf("lock after release: %v", err)
	}
	if err := again.Release(); err != nil {
		t.Fatal(err)
	}
}

func TestWriteFileLeavesNothingElse(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for _, content := range []string{"one", "two"} {
		if err := WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil || string(data) != "two" {
		t.Errorf("content %q, error %v", data, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("%d files left, error %v", len(entries), err)
	}
}
