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
	// cut is called once if the file was truncated below the read offset.
	cut func()
	// holes is true if zeros were read, torn if the last line was incomplete.
	holes, torn bool
}

func (t *tail) close() {
	if t.file != nil {
		t.file.Close()
	}
}

// lines calls f for each complete line, and the last if last is set. It reads to the end at the
// time of the call: a surviving program that writes endlessly must not keep the run from ending.
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

// size returns the file's size, and opens it if necessary. A truncated file is read from its start.
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
	if len(t.rest) > t.limit { // not a line of tofu; split it
		t.emit(t.rest, f)
		t.rest = nil
	}
}

func (t *tail) emit(line []byte, f func([]byte, bool)) {
	t.holes = t.holes || len(line) > 0 && line[0] == 0
	line = bytes.TrimRight(bytes.TrimLeft(line, "\x00"), "\r")
	if len(line) == 0 {
		return
	}
	t.known--
	f(bytes.Clone(line), t.known >= 0)
}

// release frees the disk space of read output once it exceeds the log's limit.
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

// The output of an apply is evidence: changes it does not mention did not begin. So disk space is
// allocated ahead of the writer.

// setAside allocates disk space for output; it returns the end, or 0 if that is not supported.
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
