// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// Salvage puts on record what is known of a run whose record is damaged: its log, if that is left, and what it may have
// done. rec has what others know of the run, its result among it.
func (e *Executor) Salvage(ctx context.Context, rec run.Record) (run.Record, error) {
	en := &entry{id: rec.Spec.ID, stack: rec.Spec.Stack}
	var err error
	if en.log, err = openLiveLog(e.opts.LiveDir, en.id, 0); err != nil {
		return rec, err
	}
	log, kept, err := e.logLeft(ctx, en, rec)
	if err != nil {
		return rec, fmt.Errorf("read the log of run %s of %s: %w", en.id, en.stack, err)
	}
	defer log.Close() //nolint:errcheck // read only
	result := *rec.Result
	if mayHaveLeft(rec, &result) {
		l, err := e.list(ctx, en, rec, &result, log)
		if err != nil {
			return rec, err
		}
		nameless(l.Objects)
		result.Unproven, result.UnprovenMore, result.UnprovenNote = l.Objects, l.More, l.Note
		if !kept {
			en.log.tell(l)
		}
	}
	rec.Result = &result
	if !kept { // the log in the store is the whole one
		if err := e.keepLog(ctx, en, rec); err != nil {
			return rec, err
		}
	}
	if err := e.store(ctx, rec); err != nil {
		return rec, err
	}
	en.log.finish()
	e.mu.Lock()
	delete(e.unread, en.id)
	e.mu.Unlock()
	return rec, nil
}

// logLeft is what is left of a run's log: the live one, else the one that was kept when the run ended.
func (e *Executor) logLeft(ctx context.Context, en *entry, rec run.Record) (log io.ReadCloser, kept bool, err error) {
	if en.log.position().Offset > 0 {
		live, err := en.log.reader()
		return io.NopCloser(live), false, err
	}
	nothing := io.NopCloser(bytes.NewReader(nil))
	stored, err := e.opts.Blobs.Open(ctx, rec.Key(run.BlobLog))
	var broken *blob.SealError
	switch {
	case errors.Is(err, blob.ErrNotFound):
		return nothing, false, nil
	case errors.As(err, &broken):
		return nothing, true, nil
	case err != nil:
		return nothing, false, err
	}
	text, err := unpacked(stored)
	if err != nil {
		stored.Close() //nolint:errcheck // it is damaged
		return nothing, true, nil
	}
	return struct {
		io.Reader
		io.Closer
	}{text, stored}, true, nil
}

// nameless removes ids and names that come from states: without its record we do not know the run's secrets, and cannot
// mask them.
func nameless(objects []run.Unproven) {
	for i := range objects {
		u := &objects[i]
		u.ReplacedID = ""
		if u.MayBeGone {
			u.ID, u.Identity = "", ""
		}
	}
}
