// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// background is the priority of what may take a little longer: about a third of the processor's time where a program of
// the normal priority wants the rest.
const background = 5

// giveWay lowers the priority of this process and of what it becomes. A server that starts a hundred runs at once
// answers people while they work. Where the kernel groups processes by session (sched_autogroup), priorities count
// within a group alone, and the group of this session has one of its own. A kernel that refuses either leaves things as they
// are, which harms nobody.
func giveWay() {
	const zero = 20 // the kernel's answer for the normal priority; it counts down
	if now, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err == nil && zero-now >= background {
		return
	}
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, background)
	_ = setOwn("autogroup", strconv.Itoa(background))
}
