// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/lease"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// poll answers a runner: at once when there is something to say, otherwise when something changes, at the latest after
// run.PollWait.
func (e *Executor) poll(ctx context.Context, req run.PollRequest) run.PollResponse {
	req.Home = cmp.Or(req.Home, run.HomeLocal)
	defer e.hear(req)()
	forget := e.settle(ctx, &req)
	deadline := time.NewTimer(run.PollWait)
	defer deadline.Stop()
	for {
		e.mu.Lock()
		resp := e.answer(req)
		changed := e.changed
		e.mu.Unlock()
		resp.Runs = e.keepOwners(ctx, req.Home, resp.Runs)
		resp.Forget = forget
		if len(resp.Runs)+len(resp.Cancel)+len(resp.Forget)+len(resp.Remove) > 0 || resp.Drain || req.Draining {
			return resp
		}
		select {
		case <-changed:
		case <-deadline.C:
			return resp
		case <-ctx.Done():
			return resp
		}
	}
}

// maxRemove is how many stacks that are gone an answer names: the next poll repeats them, and is not read when it is too
// large.
const maxRemove = 500

// answer collects what there is to tell the runner. The executor's lock is held.
func (e *Executor) answer(req run.PollRequest) run.PollResponse {
	late := e.homeOf(req.Home).lease.Left(req.Runner) // should it work on: two cannot in one home
	resp := run.PollResponse{Drain: e.draining || late || e.dismiss(req)}
	if req.Home == run.HomeLocal { // any other home's working directories go with the home
		resp.Remove = slices.Clone(e.remove[:min(len(e.remove), maxRemove)])
	}
	for _, id := range req.Active {
		en := e.hand[id]
		if en == nil || en.owner.Home != req.Home || en.stopped == "" && !(en.canceled && en.revocable()) {
			continue
		}
		resp.Cancel = append(resp.Cancel, id)
		if en.stopped != "" {
			if resp.Stop == nil {
				resp.Stop = map[string]string{}
			}
			resp.Stop[id] = en.stopped
		}
	}
	if resp.Drain {
		return resp
	}
	for range req.Capacity {
		en := e.next()
		if en == nil {
			break
		}
		// What a runner that is gone wrote of it would be mixed up with the new log.
		if err := en.log.reset(); err != nil {
			e.log.Error("handing out a run", "stack", en.stack.String(), "run", en.id, "error", err)
			e.wait(en)
			break
		}
		en.owner = lease.Owner{Home: req.Home, Runner: req.Runner}
		resp.Runs = append(resp.Runs, run.Assignment{ID: en.id, Token: en.token, Spec: en.spec})
	}
	return resp
}

// keepOwners puts on record which home has the runs that are handed out to it, and returns those that may go there. A
// server that starts anew must not hand them to another home. Runs without a home on record are the local one's or
// nobody's, which spares that home a write for each run.
func (e *Executor) keepOwners(ctx context.Context, home string, runs []run.Assignment) []run.Assignment {
	if home == run.HomeLocal {
		return runs
	}
	return slices.DeleteFunc(runs, func(a run.Assignment) bool {
		e.mu.Lock()
		en := e.hand[a.ID]
		e.mu.Unlock()
		if en == nil {
			return true
		}
		err := e.keepOwner(ctx, en, home)
		if err != nil {
			e.log.Error("handing out a run", "stack", en.stack.String(), "run", en.id, "error", err)
			e.mu.Lock()
			defer e.mu.Unlock()
			en.owner = lease.Owner{}
			e.wait(en)
		}
		return err != nil
	})
}

func (e *Executor) keepOwner(ctx context.Context, en *entry, home string) error {
	en.mu.Lock()
	defer en.mu.Unlock()
	rec := en.record()
	if en.over || rec.Quiet { // no server that starts anew asks for it
		return nil
	}
	rec.Home = home
	return e.keep(ctx, en, rec)
}

// dismiss tells whether the runner is not one that this server would start: of another version, or for other options.
// The executor's lock is held.
func (e *Executor) dismiss(req run.PollRequest) bool {
	if e.opts.Backend.Starts(req.Build) {
		return false
	}
	if h := e.homeOf(req.Home); h.dismissed != req.Runner {
		h.dismissed = req.Runner
		e.log.Warn("the runner of an earlier server is of another version or was started with other options: it finishes what it has, and other runs wait until it has left",
			"runner", req.Runner, "version", req.Version, "runs", strings.Join(req.Active, " "))
	}
	return true
}

// settle does what package lease decides about the runs in hand, and returns those that the runner must forget: runs
// of another home, and runs that were not in hand when it asked. A run that leaves the hand while the runner waits for
// its answer does so with a result of that runner's, who need not be told. req is nil when nobody asks.
func (e *Executor) settle(ctx context.Context, req *run.PollRequest) (forget []string) {
	lost := map[*entry]string{}
	e.mu.Lock()
	facts := e.facts(req)
	if req != nil && !facts.Stale() {
		forget = e.note(*req)
	}
	for _, en := range e.hand {
		if en.held { // no runner's to say anything about
			continue
		}
		switch lease.Decide(lease.Run{ID: en.id, Owner: en.owner, Begun: en.started}, facts) {
		case lease.Stays:
		case lease.Claimed:
			en.owner = facts.Poll.Owner
			// It may be queued for a server that started anew while the runner had it already.
			e.isRunning(en)
		case lease.Foreign:
			forget = append(forget, en.id)
		case lease.Again:
			en.owner = lease.Owner{}
			e.wait(en)
		case lease.Lost:
			lost[en] = "is gone and left nothing behind"
		case lease.Unheard:
			lost[en] = fmt.Sprintf("has not been heard from for %s", e.leaseLength())
		}
	}
	e.mu.Unlock()
	for en, why := range lost {
		e.log.Warn("a run lost its runner, which "+why, "stack", en.stack.String(), "run", en.id, "runner", en.record().Runner)
		err := e.finish(ctx, en, e.interrupted(en, why))
		if err != nil {
			e.log.Error("recording an interrupted run", "stack", en.stack.String(), "run", en.id, "error", err)
		}
	}
	return forget
}

// note takes down what a poll says beside the runs in hand, and returns the runs it names that are not. The executor's
// lock is held.
func (e *Executor) note(req run.PollRequest) (unknown []string) {
	e.noteLeaving(req)
	e.remove = slices.DeleteFunc(e.remove, func(s run.Stack) bool { return slices.Contains(req.Removed, s) })
	for _, id := range req.Active {
		if e.hand[id] == nil {
			unknown = append(unknown, id)
		}
	}
	return unknown
}

func (e *Executor) interrupted(en *entry, why string) run.Result {
	rec := en.record()
	r := run.Result{Outcome: run.OutcomeInterrupted, Class: run.FailureKilled, Finished: time.Now(), ApplyStarted: rec.Permitted}
	r.Error = fmt.Sprintf("The runner that carried out run %s %s.", en.id, why)
	if r.ApplyStarted {
		r.Error += " Changes after its last stored state are not in the state."
	}
	return r
}
