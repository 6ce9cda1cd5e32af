// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// background is a low priority: about a third of the processor's time beside a program of normal
// priority.
const background = 5

// giveWay lowers the priority of this process and its program, so that a server with a hundred runs
// still responds. With sched_autogroup, priorities only count within a session, so it also lowers
// that of the session's group. Failures are harmless.
func giveWay() {
	const zero = 20 // the kernel returns 20 minus the nice value
	if now, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err == nil && zero-now >= background {
		return
	}
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, background)
	_ = setOwn("autogroup", strconv.Itoa(background))
}
