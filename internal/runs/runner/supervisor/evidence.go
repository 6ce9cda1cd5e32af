// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
)

// The output of an apply is evidence: a change that it does not mention was not begun. So that no line
// gets lost, disk space is allocated ahead of the writer.

// setAside allocates disk space for output. It returns the offset up to which there is space; 0 if the
// file system cannot allocate.
func setAside(fd int, from, reserve int64) int64 {
	if unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, from, reserve) != nil {
		return 0
	}
	return from + reserve
}

// secure keeps the allocation ahead of the writer, and records why lines may be missing.
func (f *follower) secure(last bool) {
	t := f.out
	if t.file == nil {
		if last {
			f.doubts("its output cannot be read")
		}
		return
	}
	if reserve := f.of.reserve; reserve > 0 && f.of.secured > 0 {
		if t.offset > f.of.secured {
			f.doubts("the disk may have been full while it was written")
		} else if t.offset > f.of.secured-reserve/2 {
			if more := setAside(int(t.file.Fd()), f.of.secured, reserve); more > 0 {
				f.of.secured = more
			}
		}
	}
	switch {
	case !last:
	case t.holes:
		f.doubts("parts of it are gone")
	case t.torn:
		f.doubts("its last line is not whole")
	case t.known > 0:
		f.doubts("lines are gone that were read before")
	case f.of.secured == 0 && f.of.fullDisk():
		f.doubts("the disk was full while it was written")
	}
}

// fullDisk reports whether the run has met a full disk.
func (g *Supervisor) fullDisk() bool {
	g.run.Lock()
	defer g.run.Unlock()
	return fault.DiskFull(g.run.DiskProblem) || g.run.Log != nil && fault.DiskFull(g.run.Log.Problem())
}
