// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"math"
	"path"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// We use the system calls directly, on the thread that becomes the program. The library's Restrict
// restricts all threads of the Go runtime, which costs more than the rest of this program.

const (
	readFile  = ll.AccessFSReadFile
	writeFile = ll.AccessFSWriteFile | ll.AccessFSTruncate
	execFile  = ll.AccessFSExecute
	readDir   = ll.AccessFSReadDir
	// writeDir excludes creating device files, which no run needs.
	writeDir = ll.AccessFSRemoveDir | ll.AccessFSRemoveFile | ll.AccessFSMakeDir |
		ll.AccessFSMakeReg | ll.AccessFSMakeSock | ll.AccessFSMakeFifo | ll.AccessFSMakeSym | ll.AccessFSRefer
	// connect is for Unix sockets with a path, such as those of container engines.
	connect = ll.AccessFSResolveUnix
	files   = readFile | writeFile | execFile | connect
)

// handled are the rights that a kernel of an ABI version can restrict.
func handled(abi int) (files, network, scopes uint64) {
	const first = readFile | ll.AccessFSWriteFile | execFile | readDir | ll.AccessFSMakeChar | ll.AccessFSMakeBlock | writeDir&^ll.AccessFSRefer
	files = first
	if abi >= 2 { // before, no rule can allow moving files between directories
		files |= ll.AccessFSRefer
	}
	if abi >= 3 {
		files |= ll.AccessFSTruncate
	}
	if abi >= 4 {
		network = ll.AccessNetBindTCP
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
	return files, network, scopes
}

// confine restricts this thread and its program to the paths. It returns the kernel's version of
// Landlock, 0 for none.
func confine(o options) (abi int, err error) {
	abi, err = ll.LandlockGetABIVersion()
	if err != nil || abi < 1 {
		return 0, nil //nolint:nilerr // the kernel has none, or it is switched off
	}
	rights, network, scopes := handled(abi)
	ruleset, err := ll.LandlockCreateRuleset(&ll.RulesetAttr{HandledAccessFS: rights, HandledAccessNet: network, Scoped: scopes}, 0)
	if err != nil {
		return 0, fmt.Errorf("confine: create the rules: %w", err)
	}
	writable, readable, ofFiles := o.rw, o.ro, []string(nil)
	if o.root {
		writable = append([]string{}, o.rw...)
		for _, p := range o.placed {
			writable = append(writable, p.path)
		}
		ofFiles, readable = together(o.ro)
	}
	for _, list := range []struct {
		paths  []string
		access uint64
	}{
		{writable, readFile | writeFile | execFile | readDir | writeDir | connect},
		{o.rx, readFile | execFile | readDir},
		{readable, readFile | readDir | connect},
		{ofFiles, readFile},
	} {
		for _, name := range list.paths {
			if err := allow(ruleset, name, list.access&rights); err != nil {
				return 0, fmt.Errorf("confine: allow %s: %w", name, err)
			}
		}
	}
	if err := allowPorts(ruleset, network, o.listen); err != nil {
		return 0, err
	}
	if err := ll.LandlockRestrictSelf(ruleset, 0); err != nil {
		return 0, fmt.Errorf("confine: %w", err)
	}
	return abi, nil
}

// together replaces the listed files of /etc by one rule for /etc: the new root contains nothing
// else, and each rule costs time. Directories keep their rules, to be listed, and so do links,
// which often lead to files below /run.
func together(paths []string) (dirs, rest []string) {
	const dir = "/etc"
	for _, p := range paths {
		switch {
		case path.Dir(p) != dir || !isFile(p):
			rest = append(rest, p)
		case len(dirs) == 0:
			dirs = append(dirs, dir)
		}
	}
	return dirs, rest
}

func isFile(name string) bool {
	var info unix.Stat_t
	return unix.Lstat(name, &info) == nil && info.Mode&unix.S_IFMT == unix.S_IFREG
}

// allowPorts allows listening on ports that the kernel chooses, and on those listed. Others may
// belong to a server that is being restarted.
func allowPorts(ruleset int, access uint64, ports []uint16) error {
	if access == 0 {
		return nil
	}
	for _, port := range append([]uint16{0}, ports...) {
		if err := ll.LandlockAddNetPortRule(ruleset, &ll.NetPortAttr{AllowedAccess: access, Port: uint64(port)}, 0); err != nil {
			return fmt.Errorf("confine: allow listening on port %d: %w", port, err)
		}
	}
	return nil
}

// allow adds a rule for a path if it exists. The kernel rejects directory rights for files.
func allow(ruleset int, name string, access uint64) error {
	fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
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

// harden applies restrictions that do not need Landlock.
func harden() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up gaining privileges: %w", err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("switch off core dumps: %w", err)
	}
	// Mark files close-on-exec, because the Go runtime needs its own until then. Old kernels lack
	// the call, but the runner's files are close-on-exec anyway.
	if err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil && !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("close inherited files: %w", err)
	}
	return nil
}
