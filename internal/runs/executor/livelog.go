// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// liveLog is the log of a run in hand: a file that grows, and a signal to those who follow it. The runner has the
// whole log, too, so the file needs no care beyond being there. It is opened with the first line: thousands of runs may
// wait, and a process has so many files only.
type liveLog struct {
	path  string
	mu    sync.Mutex
	file  *os.File
	size  int64
	limit int64
	grown chan struct{}
	done  bool
}

func prepareLiveDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("prepare the directory of live logs: %w", err)
	}
	return nil
}

func openLiveLog(dir, id string, limit int64) (*liveLog, error) {
	l := &liveLog{path: filepath.Join(dir, id+".jsonl"), limit: limit, grown: make(chan struct{})}
	info, err := os.Stat(l.path)
	switch {
	case err == nil:
		l.size = info.Size()
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("look for the log of run %s: %w", id, err)
	}
	return l, nil
}

// open opens the file; l.mu is held.
func (l *liveLog) open() (err error) {
	if l.file == nil {
		l.file, err = os.OpenFile(l.path, os.O_CREATE|os.O_RDWR, 0o600)
	}
	return err
}

// reader reads what is there by now.
func (l *liveLog) reader() (io.Reader, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size == 0 {
		return bytes.NewReader(nil), nil
	}
	if err := l.open(); err != nil {
		return nil, err
	}
	return io.NewSectionReader(l.file, 0, l.size), nil
}

func (l *liveLog) position() run.LogPosition {
	l.mu.Lock()
	defer l.mu.Unlock()
	return run.LogPosition{Offset: l.size, Full: l.size >= l.limit}
}

// reset forgets what was written.
func (l *liveLog) reset() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size == 0 {
		return nil
	}
	if err := l.open(); err != nil {
		return fmt.Errorf("begin the log anew: %w", err)
	}
	if err := l.file.Truncate(0); err != nil {
		return fmt.Errorf("begin the log anew: %w", err)
	}
	l.size = 0
	return nil
}

// write adds data that belongs at offset. What is there already is skipped; a gap adds nothing. The answer says where
// the log ends, from there the runner goes on.
func (l *liveLog) write(offset int64, data []byte) (run.LogPosition, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if offset <= l.size && offset+int64(len(data)) > l.size {
		data = data[l.size-offset:]
		if room := l.limit - l.size; int64(len(data)) > room {
			data = data[:max(room, 0)]
		}
		if err := l.open(); err != nil {
			return run.LogPosition{Offset: l.size}, fmt.Errorf("write the log: %w", err)
		}
		n, err := l.file.WriteAt(data, l.size)
		l.size += int64(n)
		if err != nil {
			return run.LogPosition{Offset: l.size}, fmt.Errorf("write the log: %w", err)
		}
		close(l.grown)
		l.grown = make(chan struct{})
	}
	return run.LogPosition{Offset: l.size, Full: l.size >= l.limit}, nil
}

// finish ends the followers and removes the file; the log is in the blob store by then. Followers may still be reading
// what they have not seen, so the open file is left to the garbage collector, which closes it.
func (l *liveLog) finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done = true
	close(l.grown)
	l.grown = make(chan struct{})
	if l.size > 0 {
		l.open() //nolint:errcheck // who reads it later is told
	}
	os.Remove(l.path) //nolint:errcheck // a leftover is found by name and overwritten
}

// follow copies the log to w as it grows until the run is over or w or ctx gives up.
func (l *liveLog) follow(ctx context.Context, w io.Writer, wait bool) error {
	var at int64
	for {
		l.mu.Lock()
		size, grown, done := l.size, l.grown, l.done
		var err error
		if at < size {
			err = l.open()
		}
		file := l.file
		l.mu.Unlock()
		if err != nil {
			return fmt.Errorf("follow the log: %w", err)
		}
		if at < size {
			n, err := io.Copy(w, io.NewSectionReader(file, at, size-at))
			at += n
			if err != nil {
				return fmt.Errorf("follow the log: %w", err)
			}
			flush(w)
			continue
		}
		if done || !wait {
			return nil
		}
		// Whoever waits hears at once that there is something to wait for.
		flush(w)
		select {
		case <-grown:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func flush(w io.Writer) {
	if f, ok := w.(interface{ Flush() }); ok {
		f.Flush()
	}
}
