// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package listener

import (
	"fmt"
	"syscall"
)

const (
	// reserved is the number of files for work that must not fail: about 120 are open in an idle
	// process; the store, blobs, sources, registries and child processes need more.
	reserved = 384
	// leastFiles allow about 100 connections.
	leastFiles = 512
	// mostConnections is more than one server can handle.
	mostConnections = 16384
)

// Budget is the maximum number of connections of all listeners of this process.
type Budget struct{ connections int }

// NewBudget derives the budget from the process's limit of open files, which Go has raised as far
// as possible.
func NewBudget() (Budget, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return Budget{}, fmt.Errorf("read the limit of open files of this process: %w", err)
	}
	return budgetOf(limit.Cur)
}

func budgetOf(files uint64) (Budget, error) {
	if files < leastFiles {
		return Budget{}, fmt.Errorf("this process may open %d files, but needs %d: its store would stop when they run out. Raise the limit:\n"+
			"    ulimit -n %d\nIn a unit of systemd it is LimitNOFILE=, in a container its ulimit nofile", files, leastFiles, 65536)
	}
	return Budget{int(min((files-reserved)/4*3, mostConnections))}, nil
}

// Share returns the limits of a listener with this percentage of the budget. All listeners of a process
// together get at most 100. One address of another machine may use a quarter of the limits.
func (b Budget) Share(percent int) Limits {
	total := max(b.connections*percent/100, 8)
	return Limits{Total: total, PerAddress: max(total/4, 4)}
}
