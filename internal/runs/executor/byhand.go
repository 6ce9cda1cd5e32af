// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/lease"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// Runs that people ask for take three steps to begin. Hold takes the stack's place, so that no other run begins. Then
// the stack's status names the run, which is how a server that starts anew finds it. Then Begin puts it on record and
// lets it begin: a shell with the person's own process, what only the server can do at once and here, the rest with the
// runner.

// Hold takes the stack's place for a run of which nothing is on record yet; BusyError says which run has it.
func (e *Executor) Hold(rec run.Record) error {
	if !rec.Spec.Operation.ByHand() {
		return fmt.Errorf("hold %s for a run that nobody asked for. This is a bug in Yuba", rec.Spec.Stack)
	}
	if busy := e.inHand(rec.Spec.Stack); busy != nil {
		return &BusyError{Stack: rec.Spec.Stack, RunID: busy.id}
	}
	return e.take(rec, false)
}

// LetGo gives the place of a held run back. Nothing of it stays. The stack is looked at anew: what came up while its place
// was taken waits for that.
func (e *Executor) LetGo(stack run.Stack, id string) {
	en := e.inHand(stack)
	if en == nil || en.id != id {
		return
	}
	en.mu.Lock()
	defer en.mu.Unlock()
	if en.over {
		return
	}
	en.over = true
	en.log.finish()
	e.drop(en)
	e.tell(en.stack)
}

// Begin lets a held run begin and returns its record, which has a result when the run is over already.
func (e *Executor) Begin(ctx context.Context, rec run.Record) (run.Record, error) {
	stack := rec.Spec.Stack
	en := e.inHand(stack)
	if en == nil || en.id != rec.Spec.ID {
		return rec, fmt.Errorf("begin run %s of %s: it is not held. This is a bug in Yuba", rec.Spec.ID, stack)
	}
	kept := rec
	if rec.Spec.AtServer() { // it is at hand below; a server that starts anew does not try again
		kept = rec.WithoutPushedState()
	}
	en.mu.Lock()
	err := e.keep(ctx, en, kept)
	en.mu.Unlock()
	if err != nil {
		e.LetGo(stack, rec.Spec.ID)
		return rec, err
	}
	switch {
	case rec.Spec.AtServer():
		return e.carryOut(context.WithoutCancel(ctx), en, rec.Spec.StateChange)
	case rec.Spec.Operation == run.OperationShell:
		go e.watchShell(en)
	default:
		e.release(en)
	}
	return kept, nil
}

// release lets a runner have a held run.
func (e *Executor) release(en *entry) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.byStack[en.stack] != en {
		return
	}
	en.held, en.started, en.owner = false, false, lease.Owner{}
	e.wait(en)
	e.announce()
}

// held says whether no runner may have a run that was just taken: resumed ones that are the runner's were queued before.
func held(rec run.Record, resumed bool) bool {
	switch {
	case !rec.Spec.Operation.ByHand():
		return false
	case rec.Spec.Operation == run.OperationShell, rec.Spec.AtServer():
		return true
	}
	return !resumed
}

// resumeByHand goes on with what an earlier server had begun for a person. What that did itself is over: how far it came
// is in the state's history, and nobody waits for it any more.
func (e *Executor) resumeByHand(ctx context.Context, stack run.Stack, id string) error {
	en := e.inHand(stack)
	if en == nil || en.id != id {
		return nil
	}
	rec := en.record()
	switch {
	case rec.Spec.AtServer():
		return e.finish(ctx, en, run.Result{Outcome: run.OutcomeInterrupted, Class: run.FailureKilled, Finished: time.Now().UTC(), ApplyStarted: true,
			Error: "the server ended in the middle of it. Whether it was done is told by `yuba state history`"})
	case rec.Spec.Operation == run.OperationShell:
		go e.watchShell(en)
	}
	return nil
}

// retryPause is between attempts to put the end of a run on record that nobody else would try again.
const retryPause = 2 * time.Second

// carryOut does what the server does itself. It does not stop when whoever asked hangs up: half of it would be worse.
func (e *Executor) carryOut(ctx context.Context, en *entry, change *run.StateChange) (run.Record, error) {
	now := time.Now().UTC()
	en.mu.Lock()
	en.change(func(rec *run.Record) { rec.Started, rec.Runner = &now, e.opts.Holder })
	rec := en.record()
	en.mu.Unlock()
	result := e.replaceState(ctx, rec, change)
	level := "info"
	if result.Outcome != run.OutcomeSucceeded {
		level = "error"
	}
	e.logLine(en, level, result.Text+result.Error)
	err := e.finish(ctx, en, result)
	if err != nil {
		go e.finishLater(ctx, en, result)
	}
	return en.record(), err
}

// finishLater tries until the end of a run is on record: its lock is held until then.
func (e *Executor) finishLater(ctx context.Context, en *entry, result run.Result) {
	for {
		time.Sleep(retryPause)
		err := e.finish(ctx, en, result)
		if err == nil {
			return
		}
		e.log.Error("recording the end of a run", "stack", en.stack.String(), "run", en.id, "error", err)
	}
}

// replaceState pushes a state or goes back to a version, under the state's lock, which finish gives back.
func (e *Executor) replaceState(ctx context.Context, rec run.Record, change *run.StateChange) run.Result {
	key, holder := stateKey(rec), e.lockInfo(rec)
	result := run.Result{Outcome: run.OutcomeFailed, Class: run.FailureState, FailedStep: run.StepApply, Confined: true}
	fail := func(err error) run.Result {
		result.Error, result.Finished = err.Error(), time.Now().UTC()
		if _, locked := asLocked(err); locked {
			result.Class = run.FailureLocked
		}
		return result
	}
	if err := e.opts.States.Lock(ctx, key, holder); err != nil {
		return fail(err)
	}
	// From here on the lock may be held, whatever else goes wrong: finish releases it by the run's own id.
	en := e.inHand(rec.Spec.Stack)
	en.mu.Lock()
	en.change(func(rec *run.Record) { rec.LockHeld = true })
	en.mu.Unlock()
	by := state.By{Holder: holder, RunID: rec.Spec.ID}
	var version state.Version
	var err error
	switch change.Verb {
	case run.StatePush:
		version, err = e.opts.States.Push(ctx, key, state.PushRequest{Data: change.State, Force: change.Force, Labels: rec.State.Labels, By: by})
		result.Text = fmt.Sprintf("The pushed state is version %s (serial %d).", version.ID, version.Serial)
	case run.StateRollback:
		var done state.Rollback
		done, err = e.opts.States.Rollback(ctx, key, change.Args[0], by)
		version = done.To
		result.Text = fmt.Sprintf("The state is that of version %s again, as version %s (serial %d).", done.From.ID, version.ID, version.Serial)
	default:
		err = errors.New("the server cannot do that. This is a bug in Yuba")
	}
	if err != nil {
		result.Text = ""
		return fail(err)
	}
	en.mu.Lock()
	en.change(func(rec *run.Record) {
		rec.StateMark = &run.StateMark{Serial: version.Serial, Lineage: version.Lineage, Digest: version.Digest}
		rec.StatesStored++
	})
	en.mu.Unlock()
	return run.Result{Outcome: run.OutcomeSucceeded, ApplyStarted: true, Text: result.Text, Confined: true,
		StateDigest: version.Digest, Finished: time.Now().UTC()}
}

// lockInfo says in a state's lock for which run it is held.
func (e *Executor) lockInfo(rec run.Record) state.LockInfo {
	info := state.LockInfo{ID: rec.Spec.ID, Operation: "OperationTypeApply", Info: "yuba run " + rec.Spec.ID,
		Who: e.opts.Holder, Version: e.opts.Version, Created: time.Now().UTC(), Path: stateKey(rec).SecretName()}
	if rec.Spec.Operation.ByHand() {
		info.Operation = rec.Spec.Title()
		if rec.By != "" {
			info.Who = rec.By
		}
	}
	return info
}

// logLine writes a line into the log of a run that has no runner, in the shape of the runners' own.
func (e *Executor) logLine(en *entry, level, message string) {
	line, err := json.Marshal(map[string]string{"@level": level, "@message": message, "@module": "yuba", "type": "yuba_step",
		"@timestamp": time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")})
	if err == nil {
		_, err = en.log.write(en.log.position().Offset, append(line, '\n'))
	}
	if err != nil {
		e.log.Warn("writing a run's log", "stack", en.stack.String(), "run", en.id, "error", err)
	}
}
