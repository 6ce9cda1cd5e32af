// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// partsPrefix begins the names of directories with parts of a bundle.
const partsPrefix = ".yuba-bundle-"

// besides makes a directory for parts of a bundle, preferably on the disk of a home: one for temporary files is often small. A home
// that is new must stay empty, and the directory that has it may belong to somebody else, as if the home is a mount. Directories of
// commands that were killed are removed.
func besides(home string) (dir string, clean func(), err error) {
	home, err = filepath.Abs(home)
	if err != nil {
		return "", nil, fmt.Errorf("find the directory of the platform: %w", err)
	}
	at := filepath.Dir(home)
	if entries, err := os.ReadDir(home); err == nil && len(entries) > 0 {
		at = home
	}
	var problems []error
	for _, at := range []string{at, os.TempDir()} {
		if err := os.MkdirAll(at, 0o700); err != nil {
			problems = append(problems, err)
			continue
		}
		removeParts(at)
		dir, held, err := makeParts(at)
		if err == nil {
			return dir, func() {
				os.RemoveAll(dir) //nolint:errcheck // the next command removes what is left
				held.Close()      //nolint:errcheck // it was only locked
			}, nil
		}
		problems = append(problems, err)
	}
	return "", nil, fmt.Errorf("make a directory for its parts, beside the home or in $TMPDIR: %w", errors.Join(problems...))
}

// makeParts makes a directory, and locks it while this process lives.
func makeParts(at string) (dir string, held *os.File, err error) {
	for {
		if dir, err = os.MkdirTemp(at, partsPrefix); err != nil {
			return "", nil, err
		}
		if held, err = lockParts(dir); err == nil {
			if _, err = os.Lstat(dir); err == nil {
				return dir, held, nil
			}
			held.Close() //nolint:errcheck // it was only locked
		}
		// Another command may take it for one that is left, before it is locked.
		if !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.EWOULDBLOCK) {
			return "", nil, errors.Join(err, os.RemoveAll(dir))
		}
	}
}

// removeParts removes the directories that no process has locked.
func removeParts(at string) {
	entries, _ := os.ReadDir(at) //nolint:errcheck // then nothing can be removed
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), partsPrefix) {
			continue
		}
		name := filepath.Join(at, entry.Name())
		if held, err := lockParts(name); err == nil {
			os.RemoveAll(name) //nolint:errcheck // those of others cannot be removed
			held.Close()       //nolint:errcheck // it was only locked
		}
	}
}

func lockParts(dir string) (*os.File, error) {
	held, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(held.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil { //nolint:gosec // descriptors are small
		return nil, errors.Join(fmt.Errorf("lock %s: %w", dir, err), held.Close())
	}
	return held, nil
}
