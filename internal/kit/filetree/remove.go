// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package filetree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

const (
	// removeDepth is the maximum number of open directories. Deeper ones are moved to the top of
	// the tree first, so that the work stays proportional to the number of entries.
	removeDepth = 32
	// removeTries limits how often a directory is emptied that a process keeps filling.
	removeTries = 100
)

// Remove removes a file, link or directory with everything below, whatever its modes. It succeeds
// if the name does not exist.
func Remove(parent *os.File, name string) error {
	if err := removeAt(parent, name); err != nil {
		return &fs.PathError{Op: "remove", Path: path.Join(parent.Name(), name), Err: err}
	}
	return nil
}

// RemovePath is [Remove] for a path whose parent directories are trusted.
func RemovePath(name string) error {
	parent, err := os.Open(path.Dir(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer parent.Close()
	return Remove(parent, path.Base(name))
}

func removeAt(parent *os.File, name string) error {
	full, err := unlink(int(parent.Fd()), name)
	if err != nil || !full {
		return err
	}
	top, err := openToEmpty(int(parent.Fd()), name)
	if err != nil {
		return err
	}
	defer top.Close()
	r := removal{top: top}
	for tries := 0; ; {
		moved := r.moved
		if err := r.empty(); err != nil {
			return err
		}
		full, err := unlink(int(parent.Fd()), name)
		if err != nil || !full {
			return err
		}
		if moved == r.moved { // it is not full because of directories moved here
			tries++
		}
		if tries == removeTries {
			return errBusy
		}
		if _, err := top.Seek(0, 0); err != nil {
			return err
		}
	}
}

// openToEmpty opens a directory so that its content can be removed.
func openToEmpty(parent int, name string) (*os.File, error) {
	dir, err := openDirectory(parent, name, true)
	if err != nil {
		return nil, err
	}
	var stat unix.Stat_t
	if unix.Fstat(int(dir.Fd()), &stat) == nil && stat.Mode&unlocked != unlocked {
		_ = unix.Fchmod(int(dir.Fd()), unlocked) // if that fails, the removal reports it
	}
	return dir, nil
}

var errBusy = errors.New("a process keeps creating files in it; stop that process")

// unlink removes a file or an empty directory, and reports whether a directory is not empty.
func unlink(parent int, name string) (full bool, err error) {
	err = unix.Unlinkat(parent, name, 0)
	if errors.Is(err, unix.EISDIR) {
		err = unix.Unlinkat(parent, name, unix.AT_REMOVEDIR)
	}
	switch {
	case err == nil, errors.Is(err, unix.ENOENT):
		return false, nil
	case errors.Is(err, unix.ENOTEMPTY), errors.Is(err, unix.EEXIST):
		return true, nil
	}
	return false, err
}

// removal empties one directory.
type removal struct {
	top *os.File
	// moved counts directories that were moved up, refilled those that were full again after they
	// were emptied.
	moved, refilled int
}

// empty removes the directory's content, except for directories that are moved there during that.
func (r *removal) empty() error {
	stack := []*directory{{file: r.top}}
	defer func() {
		for _, d := range stack[1:] {
			d.file.Close()
		}
	}()
	for {
		d := stack[len(stack)-1]
		name, err := d.next()
		if err != nil {
			return err
		}
		if name == "" && len(stack) == 1 {
			return nil
		}
		if name == "" { // its parent removes it, or enters it again
			d.file.Close()
			stack = stack[:len(stack)-1]
			if err := r.leave(stack[len(stack)-1], d); err != nil {
				return err
			}
			continue
		}
		inner, err := r.removeEntry(d, name, len(stack))
		if err != nil {
			return fmt.Errorf("%s: %w", path.Join(d.path, name), err)
		}
		if inner != nil {
			stack = append(stack, inner)
		}
	}
}

// leave removes an emptied directory. If it is full again, leave moves it up, to be emptied later.
func (r *removal) leave(parent, emptied *directory) error {
	full, err := unlink(int(parent.file.Fd()), emptied.file.Name())
	if err != nil || !full {
		return err
	}
	if r.refilled++; r.refilled > removeTries {
		return errBusy
	}
	return r.lift(parent, emptied.file.Name())
}

// removeEntry removes an entry. It opens a directory that is not empty, or moves it up if it is too
// deep.
func (r *removal) removeEntry(d *directory, name string, depth int) (*directory, error) {
	parent := int(d.file.Fd())
	full, err := unlink(parent, name)
	if err != nil || !full {
		return nil, err
	}
	file, err := openToEmpty(parent, name)
	if errors.Is(err, unix.ENOENT) {
		return nil, nil //nolint:nilnil // it is removed
	}
	if err != nil {
		return nil, err
	}
	if depth < removeDepth {
		return &directory{file: file, path: path.Join(d.path, name)}, nil
	}
	file.Close() // opened only to make it accessible
	return nil, r.lift(d, name)
}

// lift moves a directory to the top under an unused name.
func (r *removal) lift(d *directory, name string) error {
	for {
		r.moved++
		err := unix.Renameat(int(d.file.Fd()), name, int(r.top.Fd()), fmt.Sprintf(".removed-%d", r.moved))
		if !errors.Is(err, unix.EEXIST) && !errors.Is(err, unix.ENOTEMPTY) && !errors.Is(err, unix.ENOTDIR) {
			return err
		}
	}
}
