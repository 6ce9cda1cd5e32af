// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A program that was started at somebody's terminal, as tofu is in `yuba shell`, has that terminal for its standard
// files, and so has every provider. Where the kernel still allows it, TIOCSTI puts characters into the terminal's input
// as if they had been typed: into the person's shell, which is not confined. TIOCLINUX pastes on the console. No rule of
// Landlock is about files that are open already, so these two requests are refused by a filter for system calls.

// Words of the kernel's struct seccomp_data, by their offset. The request of ioctl is its second argument; the kernel looks
// at the lower half alone, and so does the filter.
const (
	dataCall    = 0
	dataMachine = 4
	dataRequest = 16 + 8 // the lower half, for all machines in machines are little-endian
)

// machine is what the kernel calls the machine this program was built for, and its number of ioctl. An x86 has three
// ways to call the kernel: with the compat and the x32 numbers a program of the other kinds does the same.
type machine struct{ audit, ioctl uint32 }

// atTerminal says whether there is a terminal to type at: among the standard files, or the session's own, which a program
// can open itself. Runs have none, and go without what a filter costs each of their system calls.
func atTerminal() bool {
	for fd := range 3 {
		if _, err := unix.IoctlGetTermios(fd, unix.TCGETS); err == nil {
			return true
		}
	}
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	unix.Close(fd) //nolint:errcheck // it was only opened
	return true
}

// refuseTyping makes the two requests fail with EPERM, for this thread and what it becomes. A kernel without filters
// refuses nothing.
func refuseTyping() error {
	filter := typingFilter()
	if len(filter) == 0 {
		return nil
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]} //nolint:gosec // a few dozen instructions
	err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
	if err != nil && err != unix.EINVAL { //nolint:errorlint // of a system call
		return fmt.Errorf("keep the program from typing at the terminal: %w", err)
	}
	return nil
}

// typingFilter allows everything but the two requests, however ioctl is called.
func typingFilter() []unix.SockFilter {
	var filter []unix.SockFilter
	for _, m := range machines {
		// Where a test fails, the rest of this machine's block is jumped over.
		filter = append(filter,
			statement(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, dataMachine),
			jump(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, m.audit, 0, 6),
			statement(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, dataCall),
			jump(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, m.ioctl, 0, 4),
			statement(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, dataRequest),
			jump(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, unix.TIOCSTI, 1, 0),
			jump(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, tiocLinux, 0, 1),
			statement(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ERRNO|uint32(unix.EPERM)),
		)
	}
	return append(filter, statement(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ALLOW))
}

// tiocLinux is TIOCLINUX, which package unix does not have.
const tiocLinux = 0x541c

func statement(code int, k uint32) unix.SockFilter {
	return unix.SockFilter{Code: uint16(code), K: k} //nolint:gosec // constants
}

func jump(code int, k uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: uint16(code), K: k, Jt: yes, Jf: no} //nolint:gosec // constants
}
