// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"errors"
	"fmt"

	"github.com/yuba-dev/yuba/internal/runs/executor/records"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// vouch fails a run whose last state is not stored, with what to do. The entry's lock is held.
func (f *ending) vouch(ctx context.Context, en *entry, rec run.Record, result *run.Result) error {
	if result.StateDigest == "" || result.Class == run.FailureState || rec.Spec.Backend.Kind != run.BackendManaged {
		return nil
	}
	stored := ""
	if rec.StateMark != nil {
		stored = rec.StateMark.Digest
	}
	var unread error
	// An earlier server may not have put on record what it stored.
	if stored != result.StateDigest && en.resumed {
		var now *state.Snapshot
		if now, unread = f.opts.States.Read(ctx, records.StateKey(rec)); unread == nil {
			stored = mark(now).Digest
		}
		if unread != nil && !state.Unreadable(unread) && !f.evidence.Outwaited(en.id) {
			return unread
		}
	}
	if stored == result.StateDigest {
		return nil
	}
	version, _, err := f.opts.States.Find(ctx, records.StateKey(rec), result.StateDigest)
	if err != nil && !errors.Is(err, state.ErrNoVersion) && !state.Unreadable(err) && !f.evidence.Outwaited(en.id) {
		return err
	}
	what := whatBecame(version.ID, err, unread)
	f.opts.Log.Error("a run's last state is not the stack's state", "stack", en.stack.String(), "run", en.id, "state", result.StateDigest, "stored", stored, "why", what)
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

// whatBecame says which version has a shipped state, or why none was found or the present state is
// unread.
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
