// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/mask"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// Modules name the origin of a line; tofu's own lines have another one.
const (
	ModuleYuba   = "yuba"
	ModuleStdout = "tofu.stdout"
	ModuleStderr = "tofu.stderr"
)

// Log is a run's log file: tofu's lines and the runner's own, masked, one JSON object a line.
type Log struct {
	mask  *mask.Masker
	limit int64

	mu   sync.Mutex
	file *os.File
	size int64
	cut  bool
	full error
	// grown gets a token when the log grows.
	grown chan struct{}
}

// OpenLog opens or creates a log. It drops lines over the limit.
func OpenLog(path string, limit int64, mask *mask.Masker) (*Log, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the run's log: %w", err)
	}
	size, err := dropPartialLine(file)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("open the run's log: %w", err)
	}
	if limit <= 0 {
		limit = run.DefaultLimits().LogBytes
	}
	return &Log{mask: mask, limit: limit, file: file, size: size, cut: size >= limit, grown: make(chan struct{}, 1)}, nil
}

// dropPartialLine removes an incomplete last line, as a full disk leaves it. It returns the size.
func dropPartialLine(file *os.File) (int64, error) {
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	size, chunk := info.Size(), make([]byte, 64<<10)
	for end := size; end > 0; {
		start := max(0, end-int64(len(chunk)))
		n, err := file.ReadAt(chunk[:end-start], start)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if i := bytes.LastIndexByte(chunk[:n], '\n'); i >= 0 {
			if keep := start + int64(i) + 1; keep != size {
				return keep, file.Truncate(keep)
			}
			return size, nil
		}
		end = start
	}
	return 0, file.Truncate(0)
}

// Note adds a line of the runner.
func (l *Log) Note(format string, args ...any) { l.Own("info", fmt.Sprintf(format, args...)) }

// Warn adds a warning of the runner.
func (l *Log) Warn(format string, args ...any) { l.Own("warn", fmt.Sprintf(format, args...)) }

// Own adds a line of the runner.
func (l *Log) Own(level, message string) {
	l.Append(l.mask.Line(Wrap(level, ModuleYuba, "yuba_step", message)))
}

// Wrap formats text like tofu's own lines.
func Wrap(level, module, kind, message string) []byte {
	line := struct {
		Level     string `json:"@level"`
		Message   string `json:"@message"`
		Module    string `json:"@module"`
		Timestamp string `json:"@timestamp"`
		Type      string `json:"type,omitempty"`
	}{level, strings.ToValidUTF8(message, "\uFFFD"), module, time.Now().UTC().Format("2006-01-02T15:04:05.000000Z"), kind}
	text, _ := json.Marshal(line) // strings always marshal
	return text
}

// Append adds one masked line without its newline.
func (l *Log) Append(line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		return
	}
	if l.size+int64(len(line))+1 > l.limit {
		l.cut = true
		line = Wrap("warn", ModuleYuba, "yuba_step", fmt.Sprintf("The log was cut here: its limit is %d bytes.", l.limit))
	}
	text := append(bytes.ReplaceAll(line, []byte("\n"), []byte(" ")), '\n')
	n, err := l.file.Write(text)
	if err != nil { // a full disk: keep complete lines and continue
		l.full = err
		if n > 0 {
			_ = l.file.Truncate(l.size)
		}
		return
	}
	l.size += int64(n)
	select {
	case l.grown <- struct{}{}:
	default:
	}
}

// Length returns the bytes in the log.
func (l *Log) Length() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.size
}

// Problem returns the last write error.
func (l *Log) Problem() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.full
}

// Close closes the file.
func (l *Log) Close() { l.file.Close() }
