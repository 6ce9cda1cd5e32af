// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "golang.org/x/sys/unix"

// machines are the kernel's audit architectures with the call numbers of this program. All calls of
// 32-bit ARM programs are refused.
var machines = []uint32{unix.AUDIT_ARCH_AARCH64}

// foreignCalls is the first number of a second set of calls; this machine has none.
const foreignCalls = 0

// legacy are calls that later machines do not have.
var legacy []rule
