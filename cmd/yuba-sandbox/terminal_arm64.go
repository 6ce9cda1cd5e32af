// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "golang.org/x/sys/unix"

const ioctlArm = 54

var machines = []machine{{unix.AUDIT_ARCH_AARCH64, unix.SYS_IOCTL}, {unix.AUDIT_ARCH_ARM, ioctlArm}}
