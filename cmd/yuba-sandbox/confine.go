// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"math"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// The system calls are used one by one, on the thread that then becomes the program. The library's own Restrict is for
// processes that stay: it has all threads of the Go runtime restrict themselves, which costs more than all the rest of
// this program.

var errNoLandlock = errors.New("this kernel has no Landlock (it needs Linux 5.13 or newer with landlock among its security modules)")

const (
	readFile  = ll.AccessFSReadFile
	writeFile = ll.AccessFSWriteFile | ll.AccessFSTruncate
	execFile  = ll.AccessFSExecute
	readDir   = ll.AccessFSReadDir
	// writeDir leaves out device files: nothing tofu runs has to make any.
	writeDir = ll.AccessFSRemoveDir | ll.AccessFSRemoveFile | ll.AccessFSMakeDir |
		ll.AccessFSMakeReg | ll.AccessFSMakeSock | ll.AccessFSMakeFifo | ll.AccessFSMakeSym | ll.AccessFSRefer
	// connect is to sockets of programs outside that have a path, such as those of container engines.
	connect = ll.AccessFSResolveUnix
	files   = readFile | writeFile | execFile | connect
)

// handled is what the kernel of an ABI version can restrict, among what is to be.
func handled(abi int) (files, scopes uint64) {
	const first = readFile | ll.AccessFSWriteFile | execFile | readDir | ll.AccessFSMakeChar | ll.AccessFSMakeBlock | writeDir&^ll.AccessFSRefer
	files = first
	if abi >= 2 { // before, no rule can allow moving files between directories
		files |= ll.AccessFSRefer
	}
	if abi >= 3 {
		files |= ll.AccessFSTruncate
	}
	if abi >= 5 {
		files |= ll.AccessFSIoctlDev
	}
	if abi >= 6 {
		scopes = ll.ScopeAbstractUnixSocket | ll.ScopeSignal
	}
	if abi >= 9 {
		files |= connect
	}
	return files, scopes
}

// probe says what the kernel supports.
func probe() (int, error) {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil || abi < 1 {
		return exitNoLandlock, errNoLandlock
	}
	fmt.Printf("landlock %d\n", abi)
	return 0, nil
}

// confine restricts this thread, and what it becomes, to the paths.
func confine(o options) error {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil || abi < 1 {
		return errNoLandlock
	}
	rights, scopes := handled(abi)
	ruleset, err := ll.LandlockCreateRuleset(&ll.RulesetAttr{HandledAccessFS: rights, Scoped: scopes}, 0)
	if err != nil {
		return fmt.Errorf("confine: make the rules: %w", err)
	}
	for _, list := range []struct {
		paths  []string
		access uint64
	}{
		{o.rw, readFile | writeFile | execFile | readDir | writeDir | connect},
		{o.rx, readFile | execFile | readDir},
		{o.ro, readFile | readDir | connect},
	} {
		for _, path := range list.paths {
			if err := allow(ruleset, path, list.access&rights); err != nil {
				return fmt.Errorf("confine: allow %s: %w", path, err)
			}
		}
	}
	if err := ll.LandlockRestrictSelf(ruleset, 0); err != nil {
		return fmt.Errorf("confine: %w", err)
	}
	return nil
}

// allow adds a rule for a path if it exists; the kernel refuses rights of directories on files.
func allow(ruleset int, path string, access uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil //nolint:nilerr // what is not there needs no rule, and what cannot be found stays closed
	}
	defer unix.Close(fd)
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		return err
	}
	if info.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= files
	}
	return ll.LandlockAddPathBeneathRule(ruleset, &ll.PathBeneathAttr{AllowedAccess: access, ParentFd: fd}, 0)
}

// harden does what needs no Landlock.
func harden() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up gaining privileges: %w", err)
	}
	if atTerminal() {
		if err := refuseTyping(); err != nil {
			return err
		}
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("switch off core dumps: %w", err)
	}
	// Marked rather than closed, because the Go runtime needs its own until the exec. Old kernels lack the call; there
	// the runner's files are close-on-exec anyway.
	if err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil && !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("close inherited files: %w", err)
	}
	return nil
}
