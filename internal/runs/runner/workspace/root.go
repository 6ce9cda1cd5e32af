// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/filetree"
)

// Root is a stack's directory. What this process makes below the places that are the program's belongs to the
// program's user, where it has one of its own; other files that the program reads belong to its group.
type Root struct {
	*os.Root
	// at is where the root is in the stack's directory.
	at string
	// User is the program's, 0 when that is the server's.
	User int
}

// programPlaces are the program's own, shownPlaces hold what it reads and must not change.
var (
	programPlaces = []string{SourceDir, NewSourceDir, HomeDir, TempDir, PlanDir}
	shownPlaces   = []string{GivenDir, CLIConfigName}
)

// in says whether a file is in one of the places.
func (r *Root) in(places []string, name string) bool {
	first, _, _ := strings.Cut(path.Join(r.at, name), "/")
	return slices.Contains(places, first)
}

// settle makes what was just made the program's, or readable for it, if it belongs there.
func (r *Root) settle(name string, mode os.FileMode) error {
	switch {
	case r.User == 0:
		return nil
	case r.in(programPlaces, name):
		return r.Lchown(name, r.User, r.User)
	case r.in(shownPlaces, name):
		return errors.Join(r.Lchown(name, -1, r.User), r.Chmod(name, mode&0o700|mode&0o500>>3))
	}
	return nil
}

// OpenRoot opens a directory in it.
func (r *Root) OpenRoot(name string) (*Root, error) {
	inner, err := r.Root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return &Root{Root: inner, at: path.Join(r.at, name), User: r.User}, nil
}

// OpenFile opens a file, or makes it.
func (r *Root) OpenFile(name string, flag int, mode os.FileMode) (*os.File, error) {
	file, err := r.Root.OpenFile(name, flag, mode)
	if err != nil || flag&os.O_CREATE == 0 {
		return file, err
	}
	if err := r.settle(name, mode); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// WriteFile writes a file.
func (r *Root) WriteFile(name string, data []byte, mode os.FileMode) error {
	file, err := r.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}

// Mkdir makes a directory.
func (r *Root) Mkdir(name string, mode os.FileMode) error {
	if err := r.Root.Mkdir(name, mode); err != nil {
		return err
	}
	return r.settle(name, mode)
}

// MkdirAll makes a directory and those on its way.
func (r *Root) MkdirAll(name string, mode os.FileMode) error {
	if info, err := r.Stat(name); err == nil && info.IsDir() {
		return nil
	}
	if parent := path.Dir(name); parent != "." && parent != "/" {
		if err := r.MkdirAll(parent, mode); err != nil {
			return err
		}
	}
	err := r.Mkdir(name, mode)
	if errors.Is(err, fs.ErrExist) {
		if info, statErr := r.Stat(name); statErr == nil && info.IsDir() {
			return nil
		}
	}
	return err
}

// Symlink makes a link.
func (r *Root) Symlink(target, name string) error {
	if err := r.Root.Symlink(target, name); err != nil {
		return err
	}
	return r.settle(name, 0)
}

// GiveAll makes all that is below a directory, and the directory, the user's.
func (r *Root) GiveAll(name string, user int) error {
	err := r.Lchown(name, user, user)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info, err := r.Lstat(name); err != nil || !info.IsDir() {
		return err
	}
	inner, err := r.Root.OpenRoot(name)
	if err != nil {
		return err
	}
	defer inner.Close()
	return giveBelow(inner, user)
}

// giveBelow makes what is below a directory the user's, and follows no link.
func giveBelow(dir *os.Root, user int) error {
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := dir.Lchown(entry.Name(), user, user); err != nil {
			return err
		}
		if !entry.IsDir() {
			continue
		}
		inner, err := dir.OpenRoot(entry.Name())
		if err != nil {
			return err
		}
		err = giveBelow(inner, user)
		if err := errors.Join(err, inner.Close()); err != nil {
			return err
		}
	}
	return nil
}

// RemoveAll removes a file or a directory with all that is below, however deep it is and whatever modes the program has given
// it.
func (r *Root) RemoveAll(name string) error {
	parent, err := r.Open(path.Dir(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer parent.Close()
	return filetree.Remove(parent, path.Base(name))
}

// GiveTree makes a directory of the machine, with all that is below, the user's.
func GiveTree(dir string, user int) error {
	parent, err := os.OpenRoot(path.Dir(dir))
	if err != nil {
		return err
	}
	defer parent.Close()
	return (&Root{Root: parent}).GiveAll(path.Base(dir), user)
}

// RemoveTree removes a directory of the machine with all that is below, whatever modes a program has given it.
func RemoveTree(dir string) error {
	parent, err := os.OpenRoot(path.Dir(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer parent.Close()
	return (&Root{Root: parent}).RemoveAll(path.Base(dir))
}
