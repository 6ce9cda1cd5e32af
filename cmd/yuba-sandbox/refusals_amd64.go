// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "golang.org/x/sys/unix"

// machines are the kernel's audit architectures with the call numbers of this program. All calls of
// i386 programs are refused.
var machines = []uint32{unix.AUDIT_ARCH_X86_64}

// foreignCalls is the first number of the calls with short pointers (x32).
const foreignCalls = 0x40000000

// legacy are calls that later machines do not have.
var legacy = []rule{
	{name: "chmod with set-id bits", number: unix.SYS_CHMOD, errno: unix.EPERM, tests: []test{has(1, setIDs)}},
	{name: "open with set-id bits", number: unix.SYS_OPEN, errno: unix.EPERM, tests: []test{has(1, creates), has(2, setIDs)}},
	{name: "creat with set-id bits", number: unix.SYS_CREAT, errno: unix.EPERM, tests: []test{has(1, setIDs)}},
	{name: "mkdir with set-id bits", number: unix.SYS_MKDIR, errno: unix.EPERM, tests: []test{has(1, setIDs)}},
	{name: "mknod with set-id bits", number: unix.SYS_MKNOD, errno: unix.EPERM, tests: []test{has(1, setIDs)}},
	{name: "mknod of a device", number: unix.SYS_MKNOD, errno: unix.EPERM, tests: []test{devices(1)}},
	{name: "iopl", number: unix.SYS_IOPL, errno: unix.EPERM},
	{name: "ioperm", number: unix.SYS_IOPERM, errno: unix.EPERM},
	{name: "modify_ldt", number: unix.SYS_MODIFY_LDT, errno: unix.EPERM},
}
