// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package filetree

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// chunk is how many names of a directory are in memory at a time.
const chunk = 1024

// MaxDepth is how many directories a walk holds open at most. Nothing that people make is as deep.
const MaxDepth = 128

// OverError says that a tree has more entries, or is deeper, than the walk may go.
type OverError struct {
	// Entries and Depth are the bound that was met; the other is 0.
	Entries int64
	Depth   int
}

func (e *OverError) Error() string {
	if e.Depth > 0 {
		return fmt.Sprintf("it has directories more than %d deep", e.Depth)
	}
	return fmt.Sprintf("it has more than %d files", e.Entries)
}

// Bounds are those of a walk.
type Bounds struct {
	// Entries is how many files, links and directories are visited at most; 0 means any number.
	Entries int64
	// Lenient walks go on after errors and unlock directories that cannot be looked at otherwise.
	Lenient bool
}

// directory is one that is being read.
type directory struct {
	file  *os.File
	path  string
	names []string
	end   bool
}

// next is the next name in a directory, empty at its end.
func (d *directory) next() (string, error) {
	if len(d.names) == 0 && !d.end {
		names, err := d.file.Readdirnames(chunk)
		d.names = names
		if err != nil {
			d.end = true
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
	}
	if len(d.names) == 0 {
		return "", nil
	}
	name := d.names[0]
	d.names = d.names[1:]
	return name, nil
}

// Walk visits everything below a directory by its path there. It does not enter a directory for which visit returns fs.SkipDir. Any
// other error ends the walk, as an OverError does.
func Walk(dir string, b Bounds, visit func(path string, stat *unix.Stat_t) error) error {
	file, err := openDirectory(unix.AT_FDCWD, dir, b.Lenient)
	if err != nil {
		return &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	stack := []*directory{{file: file}}
	defer func() {
		for _, d := range stack {
			d.file.Close()
		}
	}()
	for seen := int64(0); len(stack) > 0; {
		d := stack[len(stack)-1]
		name, err := d.next()
		if err != nil && !b.Lenient {
			return err
		}
		if name == "" {
			d.file.Close()
			stack = stack[:len(stack)-1]
			continue
		}
		if seen++; b.Entries > 0 && seen > b.Entries {
			return &OverError{Entries: b.Entries}
		}
		inner, err := b.enter(d, name, visit)
		if err != nil {
			return err
		}
		if inner == nil {
			continue
		}
		stack = append(stack, inner)
		if len(stack) > MaxDepth {
			return &OverError{Depth: MaxDepth}
		}
	}
	return nil
}

// enter visits an entry and opens it if it is a directory to be walked.
func (b Bounds) enter(d *directory, name string, visit func(string, *unix.Stat_t) error) (*directory, error) {
	at := path.Join(d.path, name)
	parent := int(d.file.Fd())
	var stat unix.Stat_t
	if err := unix.Fstatat(parent, name, &stat, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil, b.tolerate("lstat", at, err)
	}
	if err := visit(at, &stat); errors.Is(err, fs.SkipDir) {
		return nil, nil //nolint:nilnil // there is nothing to walk, and nothing is wrong
	} else if err != nil {
		return nil, err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		return nil, nil //nolint:nilnil // as above
	}
	file, err := openDirectory(parent, name, b.Lenient)
	if err != nil {
		return nil, b.tolerate("open", at, err)
	}
	return &directory{file: file, path: at}, nil
}

func (b Bounds) tolerate(operation, at string, err error) error {
	if b.Lenient {
		return nil
	}
	return &fs.PathError{Op: operation, Path: at, Err: err}
}

// enterFlags open a directory and no link.
const enterFlags = unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// openDirectory opens a directory in another one to be walked. With unlock it takes a lock off that its owner has put on it,
// and that keeps this process from looking at what is in it; modes that do not are left alone.
func openDirectory(parent int, name string, unlock bool) (*os.File, error) {
	fd, err := unix.Openat(parent, name, enterFlags|unix.O_RDONLY, 0)
	if unlock && errors.Is(err, unix.EACCES) {
		fd, err = unlockAndOpen(parent, name)
	}
	if err != nil {
		return nil, err
	}
	var inside unix.Stat_t
	if unlock && errors.Is(unix.Fstatat(fd, ".", &inside, 0), unix.EACCES) {
		_ = unix.Fchmod(fd, unlocked) // what is refused then says so itself
	}
	return os.NewFile(uintptr(fd), name), nil
}

// unlocked is the mode of a directory whose owner may do everything with it.
const unlocked = 0o700

func unlockAndOpen(parent int, name string) (fd int, err error) {
	held, err := unix.Openat(parent, name, enterFlags|unix.O_PATH, 0)
	if err != nil {
		return -1, err
	}
	err = unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", held), unlocked)
	unix.Close(held) //nolint:errcheck // it was only held
	if err != nil {
		return -1, err
	}
	return unix.Openat(parent, name, enterFlags|unix.O_RDONLY, 0)
}
