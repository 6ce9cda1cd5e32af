// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/yuba-dev/yuba/internal/runs/executor/evidence"
	"github.com/yuba-dev/yuba/internal/runs/executor/livelog"
	"github.com/yuba-dev/yuba/internal/runs/executor/records"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/unproven"
)

// Salvage replaces a run's damaged record by rec, the log, and unproven resources.
func (f *ending) Salvage(ctx context.Context, rec run.Record) (run.Record, error) {
	id, stack := rec.Spec.ID, rec.Spec.Stack
	live, err := livelog.Open(f.opts.LiveDir, id, 0)
	if err != nil {
		return rec, err
	}
	log, kept, err := f.logLeft(ctx, live, rec)
	if err != nil {
		return rec, fmt.Errorf("read the log of run %s of %s: %w", id, stack, err)
	}
	defer log.Close() //nolint:errcheck // read only
	result := *rec.Result
	if evidence.MayHaveLeft(rec, &result) {
		if err := f.finishWrite(ctx, &rec); err != nil {
			return rec, err
		}
		l, err := f.evidence.List(ctx, rec, &result, log)
		if err != nil {
			return rec, err
		}
		evidence.Nameless(l.Objects)
		if !kept {
			sayUnproven(live, l)
		}
	}
	rec.Result = &result
	if !kept { // the stored log is complete
		text, size, err := live.Reader()
		if err == nil {
			err = f.records.PutLog(ctx, rec, text, size)
		}
		if err != nil {
			return rec, err
		}
	}
	if err := f.records.Put(ctx, rec); err != nil {
		return rec, err
	}
	live.Finish()
	f.evidence.Forget(id)
	return rec, nil
}

// lost returns missing, the error of a run without a record, unless the run left a log: then it
// began, and its record was lost.
func (f *ending) lost(ctx context.Context, stack run.Stack, id string, missing error) error {
	live, err := livelog.Open(f.opts.LiveDir, id, 0)
	if err != nil {
		return err
	}
	if live.Position().Offset == 0 {
		log, err := f.records.Log(ctx, run.Record{Spec: run.Spec{ID: id, Stack: stack}})
		switch {
		case errors.Is(err, run.ErrNotFound):
			return missing
		case err == nil:
			log.Close() //nolint:errcheck // read only
		case !errors.Is(err, records.ErrDamagedLog):
			return fmt.Errorf("look for the log of run %s of %s: %w", id, stack, err)
		}
	}
	return fmt.Errorf("read run %s of %s: %w: it is gone, and the run's log is here", id, stack, run.ErrDamaged)
}

// logLeft is the rest of a run's log: the live one, else the stored one.
func (f *ending) logLeft(ctx context.Context, live *livelog.Log, rec run.Record) (log io.ReadCloser, kept bool, err error) {
	text, size, err := live.Reader()
	if err != nil || size > 0 {
		return io.NopCloser(text), false, err
	}
	stored, err := f.records.Log(ctx, rec)
	switch {
	case errors.Is(err, run.ErrNotFound), errors.Is(err, records.ErrDamagedLog):
		return io.NopCloser(bytes.NewReader(nil)), !errors.Is(err, run.ErrNotFound), nil
	case err != nil:
		return nil, false, err
	}
	return stored, true, nil
}

// maxNamed is the number of unproven objects that the log names.
const maxNamed = 100

// sayUnproven appends the unproven objects to a log.
func sayUnproven(log *livelog.Log, list unproven.List) {
	if len(list.Objects)+list.More == 0 && list.Note == "" {
		return
	}
	lines := []string{list.Sentence()}
	if list.Note != "" {
		lines = append(lines, list.Note)
	}
	for i, u := range list.Objects {
		if i == maxNamed {
			lines = append(lines, fmt.Sprintf("and %d more; `yuba runs NAME -o json` lists all of them", len(list.Objects)+list.More-maxNamed))
			break
		}
		lines = append(lines, u.String())
	}
	_ = log.Say("warn", lines...) // the result has the list
}
