// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// LogReader reads a run's log as it grows. After a restart of the server it continues where it was.
type LogReader struct {
	Session *Session
	Stack   types.NamespacedName
	Options content.LogOptions
	// Line gets each line with its newline.
	Line func([]byte) error
	// Open opens a log from its beginning; nil for that of a run.
	Open func(ctx context.Context) (io.ReadCloser, error)

	read int64
}

// Run reads to the log's end.
func (r *LogReader) Run(ctx context.Context) error {
	return r.Session.Patient(ctx, r.once)
}

func (r *LogReader) once(ctx context.Context) error {
	open := r.Open
	if open == nil {
		open = func(ctx context.Context) (io.ReadCloser, error) {
			return r.Session.Content.Log(ctx, r.Stack.Namespace, r.Stack.Name, r.Options)
		}
	}
	log, err := open(ctx)
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // read only
	if _, err := io.CopyN(io.Discard, log, r.read); err != nil && !errors.Is(err, io.EOF) {
		return r.broken(err)
	}
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			if len(line) == 0 {
				return nil
			}
			return r.Line(line)
		}
		if err != nil {
			return r.broken(err)
		}
		r.read += int64(len(line))
		if err := r.Line(line); err != nil {
			return err
		}
	}
}

// broken wraps the error of a broken connection. Reading is retried if the log is followed.
func (r *LogReader) broken(err error) error {
	if !r.Options.Follow {
		return fmt.Errorf("read the log of %s: %w", r.Stack, err)
	}
	return apierrors.NewServiceUnavailable(fmt.Sprintf("read the log of %s: %v", r.Stack, err))
}

// AwaitRun waits for the end of a run, which is that of its log, and returns its record.
func (s *Session) AwaitRun(ctx context.Context, key types.NamespacedName, id string) (rec run.Record, err error) {
	log := &LogReader{Session: s, Stack: key, Options: content.LogOptions{Run: id, Follow: true}, Line: func([]byte) error { return nil }}
	if err := log.Run(ctx); err != nil {
		return rec, fmt.Errorf("wait for run %s, which continues: %w", id, err)
	}
	err = s.Patient(ctx, func(ctx context.Context) (err error) {
		rec, err = s.Content.Run(ctx, key.Namespace, key.Name, id)
		return err
	})
	return rec, err
}
