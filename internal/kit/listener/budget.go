// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package listener

import (
	"fmt"
	"syscall"
)

const (
	// reserved is how many files the process keeps for what must not fail: some 120 are open when it rests, and the store,
	// blobs, sources, registries and programs that are started take theirs.
	reserved = 384
	// leastFiles leave some 100 connections beside them.
	leastFiles = 512
	// mostConnections is more than a server of ours has work for.
	mostConnections = 16384
)

// Budget is how many connections the listeners of this process may have together.
type Budget struct{ connections int }

// NewBudget finds out how many files this process may open. Go has raised the limit as far as it may be raised.
func NewBudget() (Budget, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return Budget{}, fmt.Errorf("read how many files this process may open: %w", err)
	}
	return budgetOf(limit.Cur)
}

func budgetOf(files uint64) (Budget, error) {
	if files < leastFiles {
		return Budget{}, fmt.Errorf("this process may open %d files, and needs %d: its store would stop when they run out. Raise the limit:\n"+
			"    ulimit -n %d\nIn a unit of systemd it is LimitNOFILE=, in a container its ulimit nofile", files, leastFiles, 65536)
	}
	return Budget{int(min((files-reserved)/4*3, mostConnections))}, nil
}

// Share is the limits of a listener that may have so many parts of a hundred. A quarter of them may come from one address of
// another machine.
func (b Budget) Share(percent int) Limits {
	total := max(b.connections*percent/100, 8)
	return Limits{Total: total, PerAddress: max(total/4, 4)}
}
