// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package download

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/kit/filetree"
)

// prefix begins the names of staged directories.
const prefix = "fetch-"

// Staging is the parent of temporary directories for downloads. Several processes may share one.
type Staging string

// Staged is a temporary directory, locked while it is in use.
type Staged struct {
	// Dir is its path.
	Dir  string
	held *os.File
}

// Prepare creates the parent, and removes the directories of processes that have ended.
func (s Staging) Prepare() error {
	if s == "" {
		return errors.New("no directory is given")
	}
	if err := os.MkdirAll(string(s), 0o700); err != nil {
		return err
	}
	return s.Clean()
}

// New creates and locks a temporary directory. The caller must remove it.
func (s Staging) New() (*Staged, error) {
	for {
		dir, err := os.MkdirTemp(string(s), prefix)
		if err != nil {
			return nil, err
		}
		made := &Staged{Dir: dir}
		if made.held, err = os.Open(dir); err == nil {
			err = unix.Flock(int(made.held.Fd()), unix.LOCK_EX) //nolint:gosec // descriptors are small
		}
		if err == nil {
			if _, err = os.Lstat(dir); err == nil {
				return made, nil
			}
		}
		made.Remove()
		if !errors.Is(err, fs.ErrNotExist) { // Clean may have treated it as abandoned before it was locked
			return nil, err
		}
	}
}

// Remove removes the directory.
func (s *Staged) Remove() {
	_ = filetree.RemovePath(s.Dir) // Clean removes any remains
	if s.held != nil {
		s.held.Close() //nolint:errcheck // it was only read
	}
}

// Clean removes the directories of processes that have ended.
func (s Staging) Clean() error {
	entries, err := os.ReadDir(string(s))
	problems := []error{err}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), prefix) {
			problems = append(problems, removeAbandoned(filepath.Join(string(s), entry.Name())))
		}
	}
	return errors.Join(problems...)
}

func removeAbandoned(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return nil //nolint:nilerr // its creator has removed it
	}
	defer dir.Close()                                                //nolint:errcheck // it was only read
	if unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil { //nolint:gosec // descriptors are small
		return nil // it is in use
	}
	return filetree.RemovePath(path)
}
