// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"errors"
	"fmt"

	"github.com/yuba-dev/yuba/internal/run"
	"github.com/yuba-dev/yuba/internal/state"
)

func mark(s *state.Snapshot) run.StateMark {
	if s == nil || s.Data == nil {
		return run.StateMark{}
	}
	return run.StateMark{Serial: s.Serial, Lineage: s.Lineage, Digest: s.Digest}
}

func asLocked(err error) (*state.LockedError, bool) {
	var locked *state.LockedError
	ok := errors.As(err, &locked)
	return locked, ok
}

// readState gives the run its state and remembers which one it was.
func (e *Executor) readState(ctx context.Context, en *entry) (*state.Snapshot, error) {
	en.mu.Lock()
	defer en.mu.Unlock()
	snapshot, err := e.opts.States.Read(ctx, stateKey(en.rec), expectations(en.rec)...)
	if err != nil {
		return nil, err
	}
	// Once states were shipped the mark is that of the last one, whoever asks.
	if en.rec.StatesStored == 0 {
		m := mark(snapshot)
		en.rec.StateMark = &m
	}
	return snapshot, nil
}

// writeState stores a state that a run shipped. The same sequence number again is acknowledged without being stored
// again: the runner did not hear the first answer. The state's version names the run, so that a server that starts anew
// needs no record of it to take the next one. Another state under a number that was used is of a runner that lost its
// journal and counts anew.
func (e *Executor) writeState(ctx context.Context, en *entry, sequence int, data []byte) error {
	en.mu.Lock()
	defer en.mu.Unlock()
	digest := state.Digest(data)
	if known, seen := en.shipped[sequence]; sequence <= en.rec.StatesStored && (!seen || known == digest) {
		return nil
	}
	previous := run.StateMark{}
	if en.rec.StateMark != nil {
		previous = *en.rec.StateMark
	}
	version, err := e.opts.States.Write(ctx, stateKey(en.rec), state.WriteRequest{
		Data: data, Labels: en.rec.State.Labels, RunID: en.id,
		Previous: state.Mark{Serial: previous.Serial, Lineage: previous.Lineage, Digest: previous.Digest},
	})
	if err != nil {
		return err
	}
	en.rec.StateMark = &run.StateMark{Serial: version.Serial, Lineage: version.Lineage, Digest: version.Digest}
	en.rec.StatesStored = max(sequence, en.rec.StatesStored)
	if en.shipped == nil {
		en.shipped = map[int]string{}
	}
	en.shipped[sequence] = digest
	return nil
}

// vouch makes sure that the last state a run says it shipped is stored: what is called applied must be in the state. A
// run that says so without it failed, and says what is to be done. The entry's lock is held.
func (e *Executor) vouch(ctx context.Context, en *entry, rec run.Record, result *run.Result) error {
	if result.StateDigest == "" || result.Class == run.FailureState || rec.Spec.Backend.Kind != run.BackendManaged {
		return nil
	}
	stored := ""
	if rec.StateMark != nil {
		stored = rec.StateMark.Digest
	}
	// What an earlier server stored it may not have put on record.
	if stored != result.StateDigest && en.resumed {
		now, err := e.opts.States.Read(ctx, stateKey(rec))
		var corrupt *state.CorruptError
		if err != nil && !errors.As(err, &corrupt) {
			return err
		}
		if err == nil {
			stored = mark(now).Digest
		}
	}
	if stored == result.StateDigest {
		return nil
	}
	e.log.Error("a run's last state is not stored", "stack", en.stack.String(), "run", en.id, "state", result.StateDigest, "stored", stored)
	result.Outcome, result.Class, result.FailedStep = run.OutcomeFailed, run.FailureState, run.StepApply
	why := fmt.Sprintf("The run's last state (%.19s) is not stored; what it did may be missing from the state. Compare `yuba logs` with `yuba state list`.", result.StateDigest)
	if result.Error != "" {
		why = result.Error + "\n" + why
	}
	result.Error = why
	return nil
}
