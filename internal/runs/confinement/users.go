// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package confinement

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"
)

// The assigned users: a range that neither distributions nor systemd use.
const (
	// PassingGroup is the group of all such users. It only lets them pass directories.
	PassingGroup = 1879048192
	probeUser    = PassingGroup + 1
	firstUser    = PassingGroup + 2
	// lastUser is before systemd's users for foreign file systems.
	lastUser = 2147352575
)

// block is how many users a process reserves at a time, to write to the disk less often.
const block = 256

// Users assigns users, each once, so that no user owns files of an earlier one.
type Users struct {
	// File has the next free user. Highest returns the last assigned one if that file is lost.
	File    string
	Highest func() (int, error)

	mu         sync.Mutex
	next, last int
}

// Next assigns a user. Several processes may do so concurrently.
func (u *Users) Next() (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.next == u.last {
		first, err := u.reserve()
		if err != nil {
			return 0, fmt.Errorf("find a user for a working directory: %w", err)
		}
		u.next, u.last = first, first+block
	}
	u.next++
	return u.next - 1, nil
}

// MayBeGivenOut reports whether [Users] may assign a user.
func MayBeGivenOut(user int) bool { return user >= firstUser && user <= lastUser }

// reserve reserves a block for this process.
func (u *Users) reserve() (int, error) {
	if err := os.MkdirAll(filepath.Dir(u.File), 0o700); err != nil {
		return 0, err
	}
	lock := flock.New(u.File + ".lock")
	if err := lock.Lock(); err != nil {
		return 0, err
	}
	defer lock.Unlock() //nolint:errcheck // the end of the process unlocks, too
	first, err := u.read()
	if err != nil {
		return 0, err
	}
	if first+block > lastUser {
		return 0, fmt.Errorf("all %d users are assigned, according to %s", lastUser-firstUser, u.File)
	}
	return first, u.write(first + block)
}

func (u *Users) read() (int, error) {
	text, err := os.ReadFile(u.File)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	if n, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && n >= firstUser {
		return n, nil
	}
	highest := 0
	if u.Highest != nil {
		if highest, err = u.Highest(); err != nil {
			return 0, err
		}
	}
	if highest == 0 {
		return firstOfAll(), nil
	}
	return max(firstUser, highest+1), nil
}

// firstOfAll is the first user of a new data directory, in the first half of the range: two
// directories on a machine should not share users, because the kernel limits processes per user,
// and without Landlock programs of one user read each other's files.
func firstOfAll() int {
	const blocks = (lastUser - firstUser) / block / 2
	return firstUser + block*rand.IntN(blocks) //nolint:gosec // not a secret
}

// write durably replaces the file before anybody uses its number.
func (u *Users) write(next int) error {
	file, err := os.CreateTemp(filepath.Dir(u.File), ".users-")
	if err != nil {
		return err
	}
	_, err = file.WriteString(strconv.Itoa(next) + "\n")
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(file.Name(), u.File)
	}
	if err != nil {
		_ = os.Remove(file.Name()) // it counts for nothing
	}
	return err
}

// pass lets such users pass the directories, unless those above stop them.
func pass(dirs []string) error {
	if err := passable(dirs); err != nil {
		return err
	}
	for i, dir := range dirs {
		if err := open(dir); err != nil {
			for _, opened := range dirs[:i] {
				_ = shut(opened) // what was wrong with the other one is what counts
			}
			return fmt.Errorf("let users of their own pass %s: %w", dir, err)
		}
	}
	return nil
}

// open lets such users pass a directory, without listing it.
func open(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o001 != 0 {
		return nil
	}
	if err := os.Chown(dir, -1, PassingGroup); err != nil {
		return err
	}
	return os.Chmod(dir, info.Mode().Perm()|0o010)
}

// shut reverts open.
func shut(dir string) error {
	var info unix.Stat_t
	if err := unix.Stat(dir, &info); err != nil || info.Gid != PassingGroup {
		return err
	}
	return errors.Join(os.Chmod(dir, fs.FileMode(info.Mode&0o767)), os.Chown(dir, -1, os.Getegid()))
}

// passable explains why such users could not reach directories that are opened themselves.
func passable(dirs []string) error {
	for _, dir := range dirs {
		for ; ; dir = filepath.Dir(dir) {
			var info unix.Stat_t
			if err := unix.Stat(dir, &info); err != nil {
				return fmt.Errorf("inspect %s: %w", dir, err)
			}
			open := info.Mode&0o001 != 0 || info.Mode&0o010 != 0 && info.Gid == PassingGroup
			if !open && !slices.Contains(dirs, dir) {
				return fmt.Errorf("only its owner may enter %s; keep the data directory elsewhere, such as in /var/lib/yuba", dir)
			}
			if dir == "/" || dir == "." {
				break
			}
		}
	}
	return nil
}
