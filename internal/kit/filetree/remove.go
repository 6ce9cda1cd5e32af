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
	// removeDepth is how many directories a removal holds open. What is deeper is moved to the top of the tree first, so that
	// the work stays in proportion to the number of entries.
	removeDepth = 32
	// removeTries is how often a directory is emptied that is full again: somebody still writes to it.
	removeTries = 100
)

// Remove removes a file, link or directory with all that is below, whatever modes a program has given to it. Nothing is removed
// when there is nothing of that name.
func Remove(parent *os.File, name string) error {
	if err := removeAt(parent, name); err != nil {
		return &fs.PathError{Op: "remove", Path: path.Join(parent.Name(), name), Err: err}
	}
	return nil
}

// RemovePath is [Remove] by a path whose directories are not the program's.
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
		if moved == r.moved { // nothing that was moved here is what it is full of
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

// openToEmpty opens a directory so that what is in it can be removed.
func openToEmpty(parent int, name string) (*os.File, error) {
	dir, err := openDirectory(parent, name, true)
	if err != nil {
		return nil, err
	}
	var stat unix.Stat_t
	if unix.Fstat(int(dir.Fd()), &stat) == nil && stat.Mode&unlocked != unlocked {
		_ = unix.Fchmod(int(dir.Fd()), unlocked) // what is refused then says so itself
	}
	return dir, nil
}

var errBusy = errors.New("new files appear in it all the time; end what writes there")

// unlink removes a file or an empty directory, and says of a directory that it is not empty.
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
	// moved counts what was moved up, refilled what was full again after it was emptied.
	moved, refilled int
}

// empty removes what it finds in the directory, but for what it moves there meanwhile.
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
		if name == "" { // what holds it removes it, or enters it once more
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

// leave removes a directory that was emptied. One that is full again is moved up, to be emptied later.
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

// removeEntry removes an entry. A directory that is not empty it opens, or moves up when that is too deep.
func (r *removal) removeEntry(d *directory, name string, depth int) (*directory, error) {
	parent := int(d.file.Fd())
	full, err := unlink(parent, name)
	if err != nil || !full {
		return nil, err
	}
	file, err := openToEmpty(parent, name)
	if errors.Is(err, unix.ENOENT) {
		return nil, nil //nolint:nilnil // it is gone, as it should be
	}
	if err != nil {
		return nil, err
	}
	if depth < removeDepth {
		return &directory{file: file, path: path.Join(d.path, name)}, nil
	}
	file.Close() // it was opened to take its lock off
	return nil, r.lift(d, name)
}

// lift moves a directory to the top under a name that is free there.
func (r *removal) lift(d *directory, name string) error {
	for {
		r.moved++
		err := unix.Renameat(int(d.file.Fd()), name, int(r.top.Fd()), fmt.Sprintf(".removed-%d", r.moved))
		if !errors.Is(err, unix.EEXIST) && !errors.Is(err, unix.ENOTEMPTY) && !errors.Is(err, unix.ENOTDIR) {
			return err
		}
	}
}
