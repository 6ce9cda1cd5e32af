// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"fmt"

	"github.com/yuba-dev/yuba/internal/runs/executor/records"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

// stateIntake serves runs their state and stores the states that they ship.
type stateIntake struct {
	states States
	hand   *hand
}

func mark(s *state.Snapshot) run.StateMark {
	if s == nil || s.Data == nil {
		return run.StateMark{}
	}
	return run.StateMark{Serial: s.Serial, Lineage: s.Lineage, Digest: s.Digest}
}

func markOf(v state.Version) *run.StateMark {
	return &run.StateMark{Serial: v.Serial, Lineage: v.Lineage, Digest: v.Digest}
}

func expectations(rec run.Record) []state.ReadOption {
	if rec.State.Existing {
		return []state.ReadOption{state.ExpectExisting()}
	}
	return nil
}

// read returns the run's state and records its mark.
func (s *stateIntake) read(ctx context.Context, en *entry) (*state.Snapshot, error) {
	en.mu.Lock()
	defer en.mu.Unlock()
	if en.over {
		return nil, errOver
	}
	rec := en.record()
	snapshot, err := s.current(ctx, rec)
	if err != nil {
		return nil, err
	}
	// Once a state was shipped, the mark is that of the last one.
	if rec.StatesStored == 0 {
		m := mark(snapshot)
		en.change(func(rec *run.Record) { rec.StateMark = &m })
	}
	return snapshot, nil
}

// current is the state of the run's stack, or the proposed one of a speculative plan, or the version that a
// preview of a rollback is about.
func (s *stateIntake) current(ctx context.Context, rec run.Record) (*state.Snapshot, error) {
	if version := rec.Spec.StateVersion(); version != "" {
		_, data, err := s.states.ReadVersion(ctx, records.StateKey(rec), version)
		if err != nil {
			return nil, err
		}
		return state.NewSnapshot(data)
	}
	if rec.State.Proposed == "" {
		return s.states.Read(ctx, records.StateKey(rec), expectations(rec)...)
	}
	if s.hand.opts.Proposed == nil || !rec.Spec.Speculative() {
		return nil, fmt.Errorf("read the proposed state of run %s of %s: only speculative plans have one. This is a bug in Yuba", rec.Spec.ID, rec.Spec.Stack)
	}
	return s.hand.opts.Proposed(ctx, rec)
}

// write stores a shipped state and acknowledges repeated ones. A different state with a used
// number comes from a runner that lost its journal. The version names the run, so a new server
// needs no record.
func (s *stateIntake) write(ctx context.Context, en *entry, sequence int, data []byte) error {
	en.mu.Lock()
	defer en.mu.Unlock()
	if en.over {
		return errOver
	}
	digest, rec := statefile.Digest(data), en.record()
	if known, seen := en.shipped[sequence]; sequence <= rec.StatesStored && (!seen || known == digest) {
		return nil
	}
	previous := state.Mark{}
	if rec.StateMark != nil {
		previous = state.Mark(*rec.StateMark)
	}
	version, err := s.states.Write(ctx, records.StateKey(rec), state.WriteRequest{
		Data: data, Labels: rec.State.Labels, RunID: en.id, Previous: previous,
	})
	s.hinder(en, err)
	en.torn = err != nil && version.ID != ""
	if err != nil {
		return err
	}
	en.change(func(rec *run.Record) {
		rec.StateMark, rec.StatesStored = markOf(version), max(sequence, rec.StatesStored)
	})
	s.hand.changes(en)
	if en.shipped == nil {
		en.shipped = map[int]string{}
	}
	en.shipped[sequence] = digest
	return nil
}

// hinder records whether the API refuses a state, for the stack's conditions.
func (s *stateIntake) hinder(en *entry, err error) {
	why := ""
	if state.Denied(err) {
		why = err.Error()
	}
	s.hand.mu.Lock()
	defer s.hand.mu.Unlock()
	if en.hindered != why {
		en.hindered = why
		s.hand.opts.Ended(en.stack)
	}
}
