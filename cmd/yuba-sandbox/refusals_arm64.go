// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "golang.org/x/sys/unix"

// machines are what the kernel calls the kinds of programs whose calls have the numbers of this one's. Programs for
// 32-bit ARM make others, and are refused all of theirs.
var machines = []uint32{unix.AUDIT_ARCH_AARCH64}

// foreignCalls is the first number of calls of another kind that this machine knows besides; there are none.
const foreignCalls = 0

// legacy are calls that later machines do not have.
var legacy []rule
