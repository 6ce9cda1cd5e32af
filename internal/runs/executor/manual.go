// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/executor/records"
	"github.com/yuba-dev/yuba/internal/runs/lease"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// manual starts the runs that people request. Hold reserves the stack. Then the status names the
// run, where a new server finds it. Then Begin stores the run and starts it: a shell in the
// person's own process, the replacement of a state in the server, the rest with the runner.
type manual struct {
	opts   *Options
	hand   *hand
	ending *ending
	locks  locks
}

// Hold reserves the stack for a run that is not stored yet, or returns run.ErrBusy.
func (m *manual) Hold(rec run.Record) error {
	if !rec.Spec.Operation.ByHand() {
		return fmt.Errorf("hold %s for a run that no person requested. This is a bug in Yuba", rec.Spec.Stack)
	}
	if other := m.hand.of(rec.Spec.Stack); other != nil {
		return busy(other)
	}
	return m.hand.take(rec, false)
}

// LetGo drops a held run. The stack is reconciled, because changes may wait.
func (m *manual) LetGo(stack run.Stack, id string) {
	en := m.hand.find(stack, id)
	if en == nil {
		return
	}
	en.mu.Lock()
	defer en.mu.Unlock()
	if en.over {
		return
	}
	en.over = true
	en.log.Finish()
	m.hand.drop(en)
	m.opts.Ended(en.stack)
}

// Begin starts a held run and returns its record, with a result if it has already ended.
func (m *manual) Begin(ctx context.Context, rec run.Record) (run.Record, error) {
	stack := rec.Spec.Stack
	en := m.hand.find(stack, rec.Spec.ID)
	if en == nil {
		return rec, fmt.Errorf("begin run %s of %s: it is not held. This is a bug in Yuba", rec.Spec.ID, stack)
	}
	kept := rec
	if rec.Spec.AtServer() { // it happens below; a restarted server does not retry it
		kept = rec.WithoutPushedState()
	}
	en.mu.Lock()
	err := en.keep(ctx, m.ending.records, kept)
	en.mu.Unlock()
	if err != nil {
		m.LetGo(stack, rec.Spec.ID)
		return rec, err
	}
	switch {
	case rec.Spec.AtServer():
		return m.carryOut(context.WithoutCancel(ctx), en, rec.Spec.StateChange)
	case rec.Spec.Operation == run.OperationShell:
		go m.watchShell(en)
	default:
		m.release(en)
	}
	return kept, nil
}

// release queues a held run for a runner.
func (m *manual) release(en *entry) {
	m.hand.mu.Lock()
	defer m.hand.mu.Unlock()
	if m.hand.stacks[en.stack] != en {
		return
	}
	en.held, en.started, en.owner = false, false, lease.Owner{}
	m.hand.wait(en)
	m.hand.announce()
}

// resume continues a manual run of an earlier server. Changes by that server itself have ended.
func (m *manual) resume(ctx context.Context, stack run.Stack, id string) error {
	en := m.hand.find(stack, id)
	switch {
	case en == nil:
	case en.spec.AtServer():
		return m.ending.finish(ctx, en, run.Result{Outcome: run.OutcomeInterrupted, Class: run.FailureKilled, Finished: time.Now().UTC(), ApplyStarted: true,
			Error: "the server ended during the change. Check with `yuba state history` whether it was made"})
	case en.spec.Operation == run.OperationShell:
		go m.watchShell(en)
	}
	return nil
}

// carryOut executes a change of the server itself, even if the caller hangs up.
func (m *manual) carryOut(ctx context.Context, en *entry, change *run.StateChange) (run.Record, error) {
	now := time.Now().UTC()
	en.mu.Lock()
	en.change(func(rec *run.Record) { rec.Started, rec.Runner = &now, m.opts.Holder })
	en.mu.Unlock()
	text, err := m.replaceState(ctx, en, change)
	result := run.Result{Outcome: run.OutcomeSucceeded, ApplyStarted: true, Text: text, Confined: true, Finished: time.Now().UTC()}
	level := "info"
	if err != nil {
		level, text = "error", err.Error()
		result = run.Result{Outcome: run.OutcomeFailed, Class: run.FailureState, FailedStep: run.StepApply, Error: text, Confined: true, Finished: result.Finished}
		if asLocked(err) != nil {
			result.Class = run.FailureLocked
		}
	} else {
		result.StateDigest = en.record().StateMark.Digest
	}
	if err := en.log.Say(level, text); err != nil {
		m.opts.Log.Warn("cannot write a run's log", "stack", en.stack.String(), "run", en.id, "error", err)
	}
	err = m.ending.finish(ctx, en, result)
	if err != nil {
		go m.ending.finishLater(ctx, en, result)
	}
	return en.record(), err
}

// replaceState pushes a state or restores a version. finish releases the lock.
func (m *manual) replaceState(ctx context.Context, en *entry, change *run.StateChange) (text string, err error) {
	rec := en.record()
	key, by := records.StateKey(rec), state.By{Holder: m.locks.info(rec), RunID: rec.Spec.ID}
	if err := m.opts.States.Lock(ctx, key, by.Holder); err != nil {
		return "", err
	}
	// From here on the lock may be held, whatever fails.
	en.mu.Lock()
	defer en.mu.Unlock()
	en.change(func(rec *run.Record) { rec.LockHeld = true })
	if change.Expect != "" {
		now, err := m.opts.States.Read(ctx, key)
		if err != nil {
			return "", err
		}
		if now.Digest != change.Expect {
			return "", fmt.Errorf("the state of %s has changed since you read it: its serial is now %d. Nothing was changed. Plan it again", rec.Spec.Stack, now.Serial)
		}
	}
	var version state.Version
	switch change.Verb {
	case run.StatePush:
		version, err = m.opts.States.Push(ctx, key, state.PushRequest{Data: change.State, Force: change.Force, Labels: rec.State.Labels, By: by})
		text = fmt.Sprintf("The pushed state is version %s (serial %d).", version.ID, version.Serial)
	case run.StateRollback:
		var done state.Rollback
		done, err = m.opts.States.Rollback(ctx, key, change.Args[0], by)
		version = done.To
		text = fmt.Sprintf("The state is that of version %s again, as version %s (serial %d).", done.From.ID, version.ID, version.Serial)
	default:
		err = errors.New("unknown change of the state. This is a bug in Yuba")
	}
	if err != nil {
		return "", err
	}
	en.change(func(rec *run.Record) {
		rec.StateMark = markOf(version)
		rec.StatesStored++
	})
	return text, nil
}
