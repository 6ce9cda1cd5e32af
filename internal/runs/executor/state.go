// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"errors"
	"fmt"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
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
	if en.over {
		return nil, errOver
	}
	rec := en.record()
	snapshot, err := e.opts.States.Read(ctx, stateKey(rec), expectations(rec)...)
	if err != nil {
		return nil, err
	}
	// Once states were shipped the mark is that of the last one, whoever asks.
	if rec.StatesStored == 0 {
		m := mark(snapshot)
		en.change(func(rec *run.Record) { rec.StateMark = &m })
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
	if en.over {
		return errOver
	}
	digest, rec := state.Digest(data), en.record()
	if known, seen := en.shipped[sequence]; sequence <= rec.StatesStored && (!seen || known == digest) {
		return nil
	}
	previous := run.StateMark{}
	if rec.StateMark != nil {
		previous = *rec.StateMark
	}
	version, err := e.opts.States.Write(ctx, stateKey(rec), state.WriteRequest{
		Data: data, Labels: rec.State.Labels, RunID: en.id,
		Previous: state.Mark{Serial: previous.Serial, Lineage: previous.Lineage, Digest: previous.Digest},
	})
	e.hinder(en, err)
	if err != nil {
		return err
	}
	en.change(func(rec *run.Record) {
		rec.StateMark = &run.StateMark{Serial: version.Serial, Lineage: version.Lineage, Digest: version.Digest}
		rec.StatesStored = max(sequence, rec.StatesStored)
	})
	e.changes(en)
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
	var unread error
	// What an earlier server stored it may not have put on record.
	if stored != result.StateDigest && en.resumed {
		var now *state.Snapshot
		if now, unread = e.opts.States.Read(ctx, stateKey(rec)); unread == nil {
			stored = mark(now).Digest
		}
		if unread != nil && !state.Unreadable(unread) && !e.outwaited(en) {
			return unread
		}
	}
	if stored == result.StateDigest {
		return nil
	}
	version, _, err := e.opts.States.Find(ctx, stateKey(rec), result.StateDigest)
	if err != nil && !errors.Is(err, state.ErrNoVersion) && !state.Unreadable(err) && !e.outwaited(en) {
		return err
	}
	what := whatBecame(version.ID, err, unread)
	e.log.Error("a run's last state is not the stack's state", "stack", en.stack.String(), "run", en.id, "state", result.StateDigest, "stored", stored, "why", what)
	result.Outcome, result.Class, result.FailedStep = run.OutcomeFailed, run.FailureState, run.StepApply
	call := en.stack.Name + " -n " + en.stack.Namespace
	why := fmt.Sprintf("The run's last state (%.19s) %s. Changes that the run made may be missing from the state: see `yuba status %s`, and compare `yuba logs %s` with `yuba state list %s`.",
		result.StateDigest, what, call, call, call)
	if result.Error != "" {
		why = result.Error + "\n" + why
	}
	result.Error = why
	return nil
}

// whatBecame says what is known of a state that a run shipped and that is not known to be the stack's: the version that it is
// stored as, or why none was found, and why the present state cannot be read.
func whatBecame(version string, notFound, unread error) string {
	switch {
	case notFound == nil && unread == nil:
		return "is stored as version " + version + ", but it is not what the stack's state is now"
	case notFound == nil:
		return fmt.Sprintf("is stored as version %s, but whether it is the stack's state cannot be verified: %s", version, unread)
	case errors.Is(notFound, state.ErrNoVersion) && (unread == nil || state.Lasting(unread)):
		return "is not stored"
	case unread == nil:
		unread = notFound
	}
	return fmt.Sprintf("cannot be verified: %s", unread)
}
