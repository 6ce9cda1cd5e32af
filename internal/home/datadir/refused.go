// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/yuba-dev/yuba/internal/kit/shell"
)

// RefusedError says why Yuba does not start in a data directory. It has left the directory
// unchanged.
type RefusedError struct {
	Dir Dir
	// Problem is one sentence without a full stop: the part that is wrong, and why it matters.
	Problem string
	Ways    []Way
	Err     error
}

// Way is one way to resolve a refusal.
type Way struct {
	// To says what it achieves and what it costs.
	To       string
	Commands []string
}

func (e *RefusedError) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "use the data directory %s: %s. Nothing was changed", e.Dir, e.Problem)
	for _, way := range e.Ways {
		text.WriteString("\n" + way.To + ":")
		for _, command := range way.Commands {
			text.WriteString("\n    " + command)
		}
	}
	return text.String()
}

func (e *RefusedError) Unwrap() error { return e.Err }

// Quoted quotes a path for the shell.
func Quoted(path string) string { return shell.Quote(path) }

// Quoted returns the directory's path, quoted for the shell.
func (d Dir) Quoted() string { return Quoted(string(d)) }

// Unusable turns errors of a read-only file system or of missing permissions into a RefusedError.
// It returns other errors unchanged.
func (d Dir) Unusable(err error) error {
	switch {
	case errors.Is(err, syscall.EROFS):
		return &RefusedError{Dir: d, Err: err, Problem: "its file system is read-only",
			Ways: []Way{{"Mount it writable, then start again", []string{"mount -o remount,rw MOUNT_POINT"}}}}
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return &RefusedError{Dir: d, Err: err, Problem: fmt.Sprintf("this user cannot read and write all of its files (%v)", err),
			Ways: []Way{{"Start Yuba as the user who owns the directory. To see who that is", []string{"stat -c %U " + d.Quoted()}},
				{"To give that user files of another user, for example after a backup was restored as root", []string{"chown -R USER: " + d.Quoted()}}}}
	}
	return err
}

// CheckOwner refuses a directory of another user: the owner could not read files that root writes
// there.
func (d Dir) CheckOwner() error {
	info, err := os.Stat(string(d))
	if err != nil {
		return fmt.Errorf("find the owner of the data directory %s: %w", d, err)
	}
	is, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(is.Uid) == os.Geteuid() {
		return nil
	}
	return &RefusedError{Dir: d, Problem: fmt.Sprintf("it belongs to user %d, who could not read files that this user (%d) writes there", is.Uid, os.Geteuid()),
		Ways: []Way{{"Do the same as that user, with a FILE that it can read", []string{fmt.Sprintf("sudo -u '#%d' yuba restore FILE --data-dir %s", is.Uid, d.Quoted())}}}}
}

// The free space that a start needs: etcd allocates 64 MiB for its log at once.
const (
	roomToBegin = 160 << 20
	roomToGoOn  = 16 << 20
)

// CheckRoom refuses a full file system: etcd would panic at its first change.
func (d Dir) CheckRoom(begin bool) error {
	var system syscall.Statfs_t
	if err := syscall.Statfs(string(d), &system); err != nil {
		return fmt.Errorf("read the free space in %s: %w", d, err)
	}
	need := uint64(roomToGoOn)
	if begin {
		need = roomToBegin
	}
	if free := system.Bavail * uint64(system.Bsize); free < need {
		return fmt.Errorf("start in %s: its file system has %d MiB left and a start needs %d. Free some space, then start again. To see what uses the space:\n    du -xh -d 1 %[4]s",
			d, free>>20, need>>20, d.Quoted())
	}
	return nil
}
