// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"errors"

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
