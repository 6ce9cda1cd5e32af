// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package apart

import (
	"fmt"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// MaxMemory is what a process may have, in bytes: 5000 objects with patches take a quarter of it.
	MaxMemory = 1 << 30
	// MaxProcessor is how long a process may compute: 5000 objects that are compared each with each take a third of it.
	MaxProcessor = 150 * time.Second
)

// LimitSelf bounds this process to what a process may take. What is beyond ends it.
func LimitSelf() error {
	// Not the address space, of which the Go runtime reserves far more than it uses.
	if err := unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: MaxMemory, Max: MaxMemory}); err != nil {
		return fmt.Errorf("limit the memory: %w", err)
	}
	// The kernel ends who is at the harder of the two limits; the signal of the softer one is lost on Go.
	seconds := uint64(MaxProcessor.Seconds())
	if err := unix.Setrlimit(unix.RLIMIT_CPU, &unix.Rlimit{Cur: seconds, Max: seconds}); err != nil {
		return fmt.Errorf("limit the processor's time: %w", err)
	}
	// The heap grows in steps of 64 MiB.
	debug.SetMemoryLimit(MaxMemory / 8 * 7)
	return nil
}
