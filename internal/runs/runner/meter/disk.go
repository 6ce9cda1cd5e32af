// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package meter

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/kit/filetree"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// A directory is measured so often, and never for more than a share of the time.
const (
	diskInterval = 2 * time.Second
	diskShare    = 40
)

// maxDescriptors is how many open files of a run are looked at, so that nobody's disk waits long to be measured. Honest runs have
// some hundred.
const maxDescriptors = 100_000

// DiskUse is what a run takes of disks.
type DiskUse struct {
	Bytes, files int64
	// deep says that directories are deeper in each other than is measured.
	deep bool
	// opened says that more files are open than are looked at.
	opened bool
}

// measureDisks measures the directories that are due. No run can take longer than its number of files, and of open ones,
// allows.
func (m *Meter) measureDisks(all []*account) {
	for _, a := range all {
		now := time.Now()
		if now.Before(a.diskDue) {
			continue
		}
		use := a.of.Use(a.dirs)
		unnamed := m.walls.MeasureUnnamed(a.program, maxDescriptors)
		use.Bytes += unnamed.Bytes
		use.opened = unnamed.Over
		a.diskDue = now.Add(max(diskInterval, diskShare*time.Since(now)))
		m.mu.Lock()
		if a.of.first == nil {
			a.of.first = &use
		}
		a.disk, a.grown = use, DiskUse{Bytes: use.Bytes - a.of.first.Bytes, files: use.files - a.of.first.files}
		m.mu.Unlock()
	}
}

// Use is what the run has in these directories, as the disk counts it, and in memory for want of a disk. What is over a limit
// is not measured to its end. A directory that the program has locked is opened.
func (s *Subject) Use(dirs []string) (use DiskUse) {
	use.Bytes = s.held()
	for _, dir := range dirs {
		bounds := filetree.Bounds{Lenient: true}
		if most := s.limits.Run.Files; most > 0 {
			bounds.Entries = max(1, most-use.files+1)
		}
		err := filetree.Walk(dir, bounds, func(_ string, stat *unix.Stat_t) error {
			use.Bytes += stat.Blocks * 512
			use.files++
			return nil
		})
		var over *filetree.OverError
		use.deep = use.deep || errors.As(err, &over) && over.Depth > 0
	}
	return use
}

// OverDisk says why the run has to end when its directories hold more than they may; empty when they do not. The kernel ends writing before it is measured when
// a file has twice as much.
func (s *Subject) OverDisk(dirs []string) string {
	use := s.Use(dirs)
	most := s.limits.Run
	l := load{taken: run.Resources{DiskBytes: use.Bytes, Files: use.files}, deep: use.deep}
	l.limits.Run = run.Resources{DiskBytes: most.DiskBytes, Files: most.Files}
	over := judge([]load{l}, Machine{})
	if len(over) == 0 {
		return ""
	}
	s.Overflowed.Store(true)
	return over[0].reason
}
