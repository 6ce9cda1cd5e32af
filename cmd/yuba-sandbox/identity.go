// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// These functions change only the calling thread, which then executes the program. Package syscall
// would change all threads, which costs more than the rest of the sandbox.

// mapUser maps only the user and group that this process has outside of its user namespace.
// Programs see the usual ids and cannot change to others.
func mapUser(user, group int) error {
	for _, m := range []struct{ name, text string }{
		{"setgroups", "deny"}, // the kernel requires this first
		{"uid_map", fmt.Sprint(user, user, 1)},
		{"gid_map", fmt.Sprint(group, group, 1)},
	} {
		if err := setOwn(m.name, m.text); err != nil {
			return fmt.Errorf("write %s of the user namespace: %w", m.name, err)
		}
	}
	return nil
}

// setOwn writes to a file of this process in /proc. Package os would start the runtime's network
// poller for it.
func setOwn(name, text string) error {
	fd, err := unix.Open("/proc/self/"+name, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	_, err = unix.Write(fd, []byte(text))
	unix.Close(fd) //nolint:errcheck // the kernel has taken or refused the text already
	return err
}

// become changes to the user and its own group. A given group is added: it may pass the directories
// that lead to the program's files.
func become(user, group int) error {
	groups, n := [1]uint32{uint32(group)}, uintptr(0) //nolint:gosec // ids are small
	if group != 0 {
		n = 1
	}
	id := uintptr(user) //nolint:gosec // ids are small
	for _, step := range []struct {
		call uintptr
		a, b uintptr
		c    uintptr
	}{
		{unix.SYS_SETGROUPS, n, uintptr(unsafe.Pointer(&groups)), 0},
		{unix.SYS_SETRESGID, id, id, id},
		{unix.SYS_SETRESUID, id, id, id},
	} {
		if _, _, errno := unix.RawSyscall(step.call, step.a, step.b, step.c); errno != 0 {
			return fmt.Errorf("become the user %d: %w", user, errno)
		}
	}
	return nil
}

// giveUpRights drops all capabilities, including those that the kernel gives to programs that root
// starts.
func giveUpRights() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("give up the rights that are handed on: %w", err)
	}
	for right := uintptr(0); ; right++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, right, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) { // there are no more
			break
		}
		if errors.Is(err, unix.EPERM) { // we may not drop it: the empty sets below and no_new_privs suffice
			break
		}
		if err != nil {
			return fmt.Errorf("give up the right %d: %w", right, err)
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("give up all rights: %w", err)
	}
	return nil
}

// parseIDs reads USER:GROUP.
func parseIDs(text string) (user, group int, err error) {
	for i, c := range text {
		if c != ':' {
			continue
		}
		if user, err = strconv.Atoi(text[:i]); err == nil {
			group, err = strconv.Atoi(text[i+1:])
		}
		if err == nil && user >= 0 && group >= 0 {
			return user, group, nil
		}
	}
	return 0, 0, fmt.Errorf("-map %q: want USER:GROUP, both numbers", text)
}
