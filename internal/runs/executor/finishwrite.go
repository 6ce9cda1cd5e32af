// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"errors"

	"github.com/yuba-dev/yuba/internal/runs/executor/records"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// finishWrite puts a run's newest version into the state Secret, if a server or the API went away
// between storing the two. Usually the runner ships the state again, but its spool may be lost; the
// next run would then find versions without a Secret, as after somebody deleted it. The run must
// still hold its lock. While the API is away it fails, so that the runner retries.
func (f *ending) finishWrite(ctx context.Context, rec *run.Record) error {
	if rec.Spec.Backend.Kind != run.BackendManaged {
		return nil
	}
	request := state.WriteRequest{RunID: rec.Spec.ID, Labels: rec.State.Labels}
	if rec.StateMark != nil {
		request.Previous = state.Mark(*rec.StateMark)
	}
	version, wrote, err := f.opts.States.FinishWrite(ctx, records.StateKey(*rec), request)
	log := f.opts.Log.With("stack", rec.Spec.Stack.String(), "run", rec.Spec.ID)
	var moved *state.ConflictError
	switch {
	case wrote:
		rec.StateMark = markOf(version)
		log.Warn("finished an interrupted write of a state", "version", version.ID)
	case err == nil:
	case errors.As(err, &moved), state.Unreadable(err), state.Denied(err), f.evidence.Outwaited(rec.Spec.ID):
		log.Error("an interrupted write of a state cannot be finished", "error", err)
	default:
		return err
	}
	return nil
}
