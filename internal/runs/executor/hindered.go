// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"errors"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// An apply whose state the API refuses, for a quota or a policy, cannot end: what it made would be in no state. The run
// keeps its lock and its runner tries on. So an apply does not begin where that is known before, and a person hears of what
// only a person can change.

// room refuses an apply whose state the API would not take.
func (e *Executor) room(ctx context.Context, en *entry, now *state.Snapshot) (*run.ContinueResponse, error) {
	rec := en.record()
	err := e.opts.States.Room(ctx, stateKey(rec), now, rec.State.Labels)
	var denied *state.DeniedError
	if errors.As(err, &denied) {
		return refuse(run.OutcomeFailed, run.FailureState, denied.Error()), nil
	}
	return nil, err
}

// hinder takes note of how an attempt to store a state of the run ended.
func (e *Executor) hinder(en *entry, err error) {
	why := ""
	if state.Denied(err) {
		why = err.Error()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if en.hindered != why {
		en.hindered = why
		e.tell(en.stack)
	}
}
