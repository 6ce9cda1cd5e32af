// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// poll answers a runner: at once when there is something to say, otherwise when something changes, at the latest after
// run.PollWait.
func (e *Executor) poll(ctx context.Context, req run.PollRequest) run.PollResponse {
	defer e.hear(req)()
	unknown := e.unknown(req.Active)
	e.settle(ctx, req)
	deadline := time.NewTimer(run.PollWait)
	defer deadline.Stop()
	for {
		e.mu.Lock()
		resp := e.answer(req)
		changed := e.changed
		e.mu.Unlock()
		resp.Forget = unknown
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
	resp := run.PollResponse{Drain: e.draining || e.dismiss(req), Remove: slices.Clone(e.remove[:min(len(e.remove), maxRemove)])}
	for _, id := range req.Active {
		en := e.hand[id]
		if en == nil || en.stopped == "" && !(en.canceled && en.revocable()) {
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
		en.runner = req.Runner
		resp.Runs = append(resp.Runs, run.Assignment{ID: en.id, Token: en.token, Spec: en.spec})
	}
	return resp
}

// unknown returns the runs of a runner that are not in hand when it asks. One that leaves the hand while the runner waits
// for its answer does so with a result of that runner's, who need not be told.
func (e *Executor) unknown(active []string) []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var ids []string
	for _, id := range active {
		if e.hand[id] == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// dismiss tells whether the runner is not one that this server would start: of another version, or for other options.
// The executor's lock is held.
func (e *Executor) dismiss(req run.PollRequest) bool {
	if e.build == "" || req.Build == e.build {
		return false
	}
	if e.dismissed != req.Runner {
		e.dismissed = req.Runner
		e.log.Warn("the runner of an earlier server is of another version or was started with other options: it finishes what it has, and other runs wait until it has left",
			"runner", req.Runner, "version", req.Version, "runs", strings.Join(req.Active, " "))
	}
	return true
}

// settle compares what the runner says it has with what it was given. A run it does not have was either never fetched,
// then it is handed out again, or it is gone, then it is interrupted. The local home has one runner at a time, which
// its directory's lock ensures, so a run of an earlier runner is this one's or nobody's.
func (e *Executor) settle(ctx context.Context, req run.PollRequest) {
	var gone []*entry
	e.mu.Lock()
	e.noteLeaving(req)
	e.remove = slices.DeleteFunc(e.remove, func(s run.Stack) bool { return slices.Contains(req.Removed, s) })
	for _, en := range e.hand {
		switch {
		case en.held: // no runner's to say anything about
		case slices.Contains(req.Active, en.id):
			en.runner = req.Runner
			// It may be queued for a server that started anew while the runner had it already.
			e.isRunning(en)
		case en.started:
			gone = append(gone, en)
		case en.runner != "":
			en.runner = ""
			e.wait(en)
		}
	}
	e.mu.Unlock()
	for _, en := range gone {
		e.log.Warn("a run's runner is gone", "stack", en.stack.String(), "run", en.id)
		err := e.finish(ctx, en, e.interrupted(en))
		if err != nil {
			e.log.Error("recording an interrupted run", "stack", en.stack.String(), "run", en.id, "error", err)
		}
	}
}

func (e *Executor) interrupted(en *entry) run.Result {
	rec := en.record()
	r := run.Result{Outcome: run.OutcomeInterrupted, Class: run.FailureKilled, Finished: time.Now(), ApplyStarted: rec.Permitted}
	r.Error = fmt.Sprintf("The runner that carried out run %s is gone and left nothing behind.", en.id)
	if r.ApplyStarted {
		r.Error += " Changes after its last stored state are not in the state."
	}
	return r
}
