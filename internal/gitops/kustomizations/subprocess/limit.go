// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package subprocess

import (
	"fmt"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// MaxMemory limits the memory in bytes: 5000 objects with patches need a quarter of it.
	MaxMemory = 1 << 30
	// MaxProcessor limits the CPU time: comparing 5000 objects needs a third.
	MaxProcessor = 150 * time.Second
)

// LimitSelf applies the limits to this process. Exceeding them ends it.
func LimitSelf() error {
	// Not the address space: the Go runtime reserves far more than it uses.
	if err := unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: MaxMemory, Max: MaxMemory}); err != nil {
		return fmt.Errorf("limit the memory: %w", err)
	}
	// The hard limit ends the process; Go ignores the signal of the soft limit.
	seconds := uint64(MaxProcessor.Seconds())
	if err := unix.Setrlimit(unix.RLIMIT_CPU, &unix.Rlimit{Cur: seconds, Max: seconds}); err != nil {
		return fmt.Errorf("limit the processor's time: %w", err)
	}
	// The heap grows in steps of 64 MiB.
	debug.SetMemoryLimit(MaxMemory / 8 * 7)
	return nil
}
