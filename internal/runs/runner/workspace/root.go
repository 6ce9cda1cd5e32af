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

// Root is a stack's directory. It gives new files below the program's places to the program's user,
// if any, and other files that the program reads to its group.
type Root struct {
	*os.Root
	// at is the path of the root in the stack's directory.
	at string
	// User is the program's; 0 is the server's.
	User int
}

// programPlaces belong to the program; it can only read shownPlaces.
var (
	programPlaces = []string{SourceDir, NewSourceDir, HomeDir, TempDir, PlanDir}
	shownPlaces   = []string{GivenDir, CLIConfigName}
)

// in reports whether a file is in one of the places.
func (r *Root) in(places []string, name string) bool {
	first, _, _ := strings.Cut(path.Join(r.at, name), "/")
	return slices.Contains(places, first)
}

// settle gives a new file to the program, or makes it readable, if it is in one of its places.
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

// OpenRoot opens a directory below it.
func (r *Root) OpenRoot(name string) (*Root, error) {
	inner, err := r.Root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return &Root{Root: inner, at: path.Join(r.at, name), User: r.User}, nil
}

// OpenFile opens or creates a file.
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

// MkdirAll makes a directory and its parents.
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

// GiveAll gives a directory and everything below it to the user.
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

// giveBelow gives everything below a directory to the user. It does not follow links.
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

// RemoveAll removes a file or directory, however deep it is and whatever modes it has.
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

// GiveTree is GiveAll for a path of the machine.
func GiveTree(dir string, user int) error {
	parent, err := os.OpenRoot(path.Dir(dir))
	if err != nil {
		return err
	}
	defer parent.Close()
	return (&Root{Root: parent}).GiveAll(path.Base(dir), user)
}

// RemoveTree is RemoveAll for a path of the machine.
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
