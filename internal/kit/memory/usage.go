// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"time"

	"golang.org/x/sys/unix"
)

// Usage is what this process has used so far.
type Usage struct {
	// Memory is the resident memory in bytes; 0 if unknown.
	Memory int64
	// CPU is the process's user and system time, Children that of the child processes it has waited
	// for.
	CPU, Children time.Duration
}

// Measure returns the current usage. Unknown values are zero.
func Measure() Usage {
	return Usage{Memory: resident(), CPU: cpuOf(unix.RUSAGE_SELF), Children: cpuOf(unix.RUSAGE_CHILDREN)}
}

func cpuOf(who int) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(who, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
