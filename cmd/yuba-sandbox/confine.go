// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

var errNoLandlock = errors.New("this kernel has no Landlock (it needs Linux 5.13 or newer with landlock among its security modules)")

const (
	readFile  landlock.AccessFSSet = ll.AccessFSReadFile
	writeFile landlock.AccessFSSet = ll.AccessFSWriteFile | ll.AccessFSTruncate
	execFile  landlock.AccessFSSet = ll.AccessFSExecute
	readDir   landlock.AccessFSSet = ll.AccessFSReadDir
	// writeDir leaves out device files: nothing tofu runs has to make any.
	writeDir landlock.AccessFSSet = ll.AccessFSRemoveDir | ll.AccessFSRemoveFile | ll.AccessFSMakeDir |
		ll.AccessFSMakeReg | ll.AccessFSMakeSock | ll.AccessFSMakeFifo | ll.AccessFSMakeSym
	handled = readFile | writeFile | execFile | readDir | writeDir |
		ll.AccessFSMakeChar | ll.AccessFSMakeBlock | ll.AccessFSIoctlDev | ll.AccessFSRefer
	scoped landlock.ScopedSet = ll.ScopeAbstractUnixSocket | ll.ScopeSignal
)

// probe says what the kernel supports.
func probe() (int, error) {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil || abi < 1 {
		return exitNoLandlock, errNoLandlock
	}
	fmt.Printf("landlock %d\n", abi)
	return 0, nil
}

// confine restricts this process, and what it becomes, to the paths.
func confine(o options) error {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil || abi < 1 {
		return errNoLandlock
	}
	refer := landlock.AccessFSSet(0)
	if abi >= 2 { // before, no rule can allow it and asking for it would switch everything off
		refer = ll.AccessFSRefer
	}
	var rules []landlock.Rule
	rules = appendRules(rules, o.rw, readFile|writeFile|execFile, readDir|writeDir|refer)
	rules = appendRules(rules, o.ro, readFile, readDir)
	rules = appendRules(rules, o.rx, readFile|execFile, readDir)
	if err := landlock.MustConfig(handled, scoped).BestEffort().Restrict(rules...); err != nil {
		return fmt.Errorf("confine: %w", err)
	}
	return nil
}

// appendRules allows access to each path that exists; the kernel refuses rights of directories on files.
func appendRules(rules []landlock.Rule, paths []string, file, dir landlock.AccessFSSet) []landlock.Rule {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		access := file
		if info.IsDir() {
			access |= dir
		}
		rules = append(rules, landlock.PathAccess(access, path).IgnoreIfMissing())
	}
	return rules
}

// harden does what needs no Landlock.
func harden() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up gaining privileges: %w", err)
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
