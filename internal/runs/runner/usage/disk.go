// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package usage

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

// maxDescriptors limits a run's open files that are examined; normal runs have some hundred.
const maxDescriptors = 100_000

// DiskUse is a run's disk use.
type DiskUse struct {
	Bytes, files int64
	// deep is true if directories are nested deeper than measured.
	deep bool
	// opened is true if more files are open than examined.
	opened bool
}

// measureDisks measures the directories that are due. The number of files limits the time per run.
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

// Use measures the run's directories on disk, and states in memory. Measuring ends above a limit.
// Directories that the program locked are opened.
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

// OverDisk says why the run must end. The kernel limits single files to twice the limit.
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
