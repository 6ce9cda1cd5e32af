// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package livelog keeps the log of a run in hand: a growing file, and a signal to its followers.
// The runner has the whole log, too, so the file need not be synced.
package livelog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// Log is the log of one run. Its methods are safe for concurrent use.
type Log struct {
	path string

	mu sync.Mutex
	// file is opened with the first line: thousands of runs may wait, and open files are limited.
	file  *os.File
	size  int64
	limit int64
	grown chan struct{}
	done  bool
}

// Open returns the log of a run below dir, with an earlier server's lines, limited to limit bytes.
func Open(dir, id string, limit int64) (*Log, error) {
	l := &Log{path: filepath.Join(dir, id+".jsonl"), limit: limit, grown: make(chan struct{})}
	info, err := os.Stat(l.path)
	switch {
	case err == nil:
		l.size = info.Size()
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("find the log of run %s: %w", id, err)
	}
	return l, nil
}

// open opens the file; l.mu is held.
func (l *Log) open() (err error) {
	if l.file == nil {
		l.file, err = os.OpenFile(l.path, os.O_CREATE|os.O_RDWR, 0o600)
	}
	return err
}

// Reader returns a reader of the current content, and its size.
func (l *Log) Reader() (io.Reader, int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size == 0 {
		return bytes.NewReader(nil), 0, nil
	}
	if err := l.open(); err != nil {
		return nil, 0, fmt.Errorf("read the log: %w", err)
	}
	return io.NewSectionReader(l.file, 0, l.size), l.size, nil
}

// Position says where the log ends.
func (l *Log) Position() run.LogPosition {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.position()
}

func (l *Log) position() run.LogPosition {
	return run.LogPosition{Offset: l.size, Full: l.size >= l.limit}
}

// Reset removes the content.
func (l *Log) Reset() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size == 0 {
		return nil
	}
	err := l.open()
	if err == nil {
		err = l.file.Truncate(0)
	}
	if err != nil {
		return fmt.Errorf("clear the log: %w", err)
	}
	l.size = 0
	return nil
}

// Write adds data at offset, except for known bytes; after a gap it adds nothing. It returns the
// new end.
func (l *Log) Write(offset int64, data []byte) (run.LogPosition, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	if offset <= l.size && offset+int64(len(data)) > l.size {
		data = data[l.size-offset:]
		err = l.append(data[:min(int64(len(data)), max(l.limit-l.size, 0))])
	}
	return l.position(), err
}

func (l *Log) append(data []byte) error {
	err := l.open()
	if err == nil {
		var n int
		n, err = l.file.WriteAt(data, l.size)
		l.size += int64(n)
	}
	if err != nil {
		return fmt.Errorf("write the log: %w", err)
	}
	close(l.grown)
	l.grown = make(chan struct{})
	return nil
}

// Say appends lines of the server in the runners' format, even beyond the limit.
func (l *Log) Say(level string, messages ...string) error {
	var text []byte
	for _, message := range messages {
		line, err := json.Marshal(map[string]string{"@level": level, "@message": message, "@module": "yuba", "type": "yuba_step",
			"@timestamp": time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")})
		if err != nil {
			return fmt.Errorf("write the log: %w", err)
		}
		text = append(append(text, line...), '\n')
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.append(text)
}

// Finish ends the followers and removes the file. They can still read the open one.
func (l *Log) Finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done = true
	close(l.grown)
	l.grown = make(chan struct{})
	if l.size > 0 {
		l.open() //nolint:errcheck // later readers get the error
	}
	os.Remove(l.path) //nolint:errcheck // a leftover is found by name and overwritten
}

// Follow copies the log to w; with wait, until the run is over, a write fails, or ctx ends.
func (l *Log) Follow(ctx context.Context, w io.Writer, wait bool) error {
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
		if err == nil && at < size {
			var n int64
			n, err = io.Copy(w, io.NewSectionReader(file, at, size-at))
			at += n
		}
		if err != nil {
			return fmt.Errorf("follow the log: %w", err)
		}
		flush(w) // also before the first line: the reader learns that the log exists
		if done || !wait {
			return nil
		}
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
