// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime/debug"

	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/gitops/releases/wire"
)

// limitSelf limits the memory of this process. Exceeding it ends the process. Package engine limits the
// CPU time of each call.
func limitSelf() error {
	// Not the address space: the Go runtime reserves far more than it uses.
	if err := unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: wire.MaxMemory, Max: wire.MaxMemory}); err != nil {
		return fmt.Errorf("limit the memory: %w", err)
	}
	// The heap grows in steps of 64 MiB.
	debug.SetMemoryLimit(wire.MaxMemory / 8 * 7)
	return nil
}
