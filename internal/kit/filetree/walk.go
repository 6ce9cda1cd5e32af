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

// chunk is the number of names of a directory in memory at a time.
const chunk = 1024

// MaxDepth is the maximum number of directories that a walk keeps open. Nothing that people create
// is as deep.
const MaxDepth = 128

// OverError means that a tree exceeds the limits of a walk.
type OverError struct {
	// Entries and Depth are the exceeded limit; the other one is 0.
	Entries int64
	Depth   int
}

func (e *OverError) Error() string {
	if e.Depth > 0 {
		return fmt.Sprintf("it has directories more than %d deep", e.Depth)
	}
	return fmt.Sprintf("it has more than %d files", e.Entries)
}

// Bounds configure a walk.
type Bounds struct {
	// Entries is the maximum number of files, links and directories; 0 means no limit.
	Entries int64
	// Lenient walks continue after errors and make inaccessible directories accessible.
	Lenient bool
}

// directory is an open directory.
type directory struct {
	file  *os.File
	path  string
	names []string
	end   bool
}

// next returns the next name, or "" at the end.
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

// Walk visits everything below a directory by relative path. It does not enter a directory for
// which visit returns fs.SkipDir. Any other error ends the walk, as an OverError does.
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

// enter visits an entry, and opens it if it is a directory to walk.
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

// enterFlags open a directory but no link.
const enterFlags = unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// openDirectory opens a subdirectory to walk. With unlock it changes a mode by which the owner
// denies itself access.
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
		_ = unix.Fchmod(fd, unlocked) // if that fails, opening it reports it
	}
	return os.NewFile(uintptr(fd), name), nil
}

// unlocked is a mode that gives the owner full access to a directory.
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
