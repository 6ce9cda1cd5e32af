// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package download

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/yuba-dev/yuba/internal/testkit/usertest"
)

// Whoever begins a download while somebody cleans up is not in the way, and does not lose what it
// works in.
func TestCleaningUpWhileOthersBegin(t *testing.T) {
	staging := Staging(t.TempDir())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 200 {
			if err := staging.Clean(); err != nil {
				t.Error(err)
			}
		}
	}()
	for range 200 {
		s, err := staging.New()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(s.Dir, "x"), nil, 0o600); err != nil {
			t.Error(err)
		}
		s.Remove()
	}
	<-done
}

// A download may leave files and directories with any modes. Yuba removes them even when it does
// not run as root.
func TestStagedTreesGoWhateverTheirModes(t *testing.T) {
	root := t.TempDir()
	usertest.Become(t, root)
	staging := Staging(root)
	for name, remove := range map[string]func(*Staged) error{
		"when it is done": func(s *Staged) error { s.Remove(); return nil },
		"when its process has died": func(s *Staged) error {
			return errors.Join(s.held.Close(), staging.Clean())
		},
	} {
		s, err := staging.New()
		if err != nil {
			t.Fatal(err)
		}
		locked := filepath.Join(s.Dir, "locked")
		if err := errors.Join(os.Mkdir(locked, 0o700), os.WriteFile(filepath.Join(locked, "file"), nil, 0o400), os.Chmod(locked, 0o500)); err != nil {
			t.Fatal(err)
		}
		if err := remove(s); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(s.Dir); !os.IsNotExist(err) {
			t.Errorf("%s: it is there: %v", name, err)
		}
	}
}
