// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/home/datadir"
)

func TestABackupIsNotLeftInAnotherUsersDirectory(t *testing.T) {
	dir := "/"
	if os.Geteuid() == 0 {
		dir = t.TempDir()
		if err := os.Chown(dir, 12345, -1); err != nil {
			t.Fatal(err)
		}
	}
	before, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var refused *datadir.RefusedError
	if err := StageRestore(dir, strings.NewReader("")); !errors.As(err, &refused) {
		t.Errorf("error %v, want a refusal", err)
	}
	if after, err := os.ReadDir(dir); err != nil || len(after) != len(before) {
		t.Errorf("%d files instead of %d, %v", len(after), len(before), err)
	}
}

func TestALookForARunningYubaMakesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mistyped")
	if _, err := Runs(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is there now: %v", err)
	}
	empty := t.TempDir()
	if runs, err := Runs(empty); runs || err != nil {
		t.Errorf("runs %t, %v", runs, err)
	}
	if files, err := os.ReadDir(empty); err != nil || len(files) > 0 {
		t.Errorf("a look left %v, %v", files, err)
	}
}
