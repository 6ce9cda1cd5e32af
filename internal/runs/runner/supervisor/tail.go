// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"bytes"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
)

// tail reads the lines of a growing file.
type tail struct {
	path     string
	limit    int
	known    int // so many lines were seen by the runner before
	file     *os.File
	offset   int64
	released int64
	rest     []byte
	// cut is called once when the file has become shorter than what was read of it.
	cut func()
	// holes is true when there were zeros where lines should be, torn when the last line was not whole.
	holes, torn bool
}

func (t *tail) close() {
	if t.file != nil {
		t.file.Close()
	}
}

// lines calls f for each line that is complete by now; the last one need not be. It reads as far as the file goes at the
// beginning of the call: a program that survived tofu and writes without end must not keep the run from ending.
func (t *tail) lines(last bool, f func(line []byte, known bool)) {
	size, err := t.size()
	if err != nil {
		return // the next call tries again
	}
	chunk := make([]byte, 32<<10)
	for t.offset < size {
		n, err := t.file.ReadAt(chunk[:min(int64(len(chunk)), size-t.offset)], t.offset)
		t.offset += int64(n)
		t.rest = append(t.rest, chunk[:n]...)
		t.split(f)
		if n == 0 || (err != nil && !errors.Is(err, io.EOF)) {
			break
		}
	}
	if last && len(t.rest) > 0 {
		t.torn = true
		t.emit(t.rest, f)
		t.rest = nil
	}
}

// size is the size of the file, which is opened first if need be. A file that was cut off is read from its beginning: what
// was written since then may be there.
func (t *tail) size() (int64, error) {
	if t.file == nil {
		file, err := os.OpenFile(t.path, os.O_RDWR, 0)
		if err != nil {
			return 0, err
		}
		t.file = file
	}
	info, err := t.file.Stat()
	if err != nil {
		return 0, err
	}
	if info.Size() < t.offset {
		t.offset, t.released, t.rest = 0, 0, nil
		if t.cut != nil {
			t.cut()
			t.cut = nil
		}
	}
	return info.Size(), nil
}

func (t *tail) split(f func([]byte, bool)) {
	for {
		i := bytes.IndexByte(t.rest, '\n')
		if i < 0 {
			break
		}
		t.emit(t.rest[:i], f)
		t.rest = t.rest[i+1:]
	}
	if len(t.rest) > t.limit { // not a line of tofu's; it goes on as several
		t.emit(t.rest, f)
		t.rest = nil
	}
}

func (t *tail) emit(line []byte, f func([]byte, bool)) {
	t.holes = t.holes || len(line) > 0 && line[0] == 0
	line = bytes.TrimRight(bytes.TrimLeft(line, "\x00"), "\r") // zeros: what a runner before has released
	if len(line) == 0 {
		return
	}
	t.known--
	f(bytes.Clone(line), t.known >= 0)
}

// release gives the disk space of what was read back once it is more than the log may hold anyway, so that endless
// output fills no disk.
func (t *tail) release(limit int64) {
	const step = 4 << 20
	if limit <= 0 || t.offset < limit || t.offset-t.released < step || t.file == nil {
		return
	}
	upTo := t.offset - int64(len(t.rest))
	upTo -= upTo % 4096
	if upTo > t.released && unix.Fallocate(int(t.file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, t.released, upTo-t.released) == nil {
		t.released = upTo
	}
}

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
