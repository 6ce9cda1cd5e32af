// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/meter"
)

// checkReserve fails when a disk has less left than is kept for the server. Runs that have begun go on; another one would
// only make it worse.
func (s *prepareStep) checkReserve() error {
	if s.run.Spec.Operation == run.OperationShell { // a person may be here to make room
		return nil
	}
	const message = "start the run of %s: only %s in %s, and %s are kept for the server. Nothing was changed. Make room; the next attempt goes on by itself"
	m := s.run.Meter.Machine()
	switch {
	case m.Disk.Lacking() > 0:
		return fault.New(run.FailureDisk, message, s.run.Spec.Stack, meter.MiB(m.Disk.Free)+" are free", m.Disk.Dir, meter.MiB(m.Disk.Reserve))
	case m.Files.Lacking() > 0:
		return fault.New(run.FailureDisk, message, s.run.Spec.Stack, meter.FileCount(m.Files.Free)+" can still be made", m.Files.Dir, meter.FileCount(m.Files.Reserve))
	}
	return nil
}

// checkFree fails when too little is free to begin an apply: one that fails for want of space may lose its state.
func (s *planStep) checkFree() error {
	for _, dir := range []string{s.run.Opts.WorkRoot, s.run.Opts.Dir} {
		var stat unix.Statfs_t
		if err := unix.Statfs(dir, &stat); err != nil {
			return fault.New("", "ask for the free space of %s: %w", dir, err)
		}
		if free := int64(stat.Bavail) * stat.Bsize; free < s.run.Opts.MinFree {
			return fault.New(run.FailureDisk, "apply %s: only %d MiB are free in %s, and an apply that cannot store its state loses it (at least %d MiB are wanted). Nothing was changed. Make room; the next attempt goes on by itself",
				s.run.Spec.Stack, free>>20, dir, s.run.Opts.MinFree>>20)
		}
	}
	return nil
}
