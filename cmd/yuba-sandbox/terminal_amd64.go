// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "golang.org/x/sys/unix"

const (
	// x32 marks calls of programs with short pointers, which have a number of ioctl of their own.
	x32      = 0x40000000
	ioctl386 = 54
)

var machines = []machine{
	{unix.AUDIT_ARCH_X86_64, unix.SYS_IOCTL}, {unix.AUDIT_ARCH_X86_64, x32 | unix.SYS_IOCTL}, {unix.AUDIT_ARCH_X86_64, x32 | 514},
	{unix.AUDIT_ARCH_I386, ioctl386},
}
