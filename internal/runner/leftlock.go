// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/user"
	"slices"
	"time"

	"github.com/yuba-dev/yuba/internal/plan"
	"github.com/yuba-dev/yuba/internal/run"
)

// leftLock is the lock that a process of ours took in a backend of the stack's own, and may not have given back because
// it was killed. The process's own words tell when it took it: after it was started, and before it did what only the
// holder may do. Nobody else can have taken a lock in that time that is still held: the process would not have got it.
type leftLock struct {
	// Who is how the tool names the holder, From and To when it took the lock.
	Who  string    `json:"who"`
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// is reports whether a lock is the one that was left. Both times are the tool's own, and so is the clock, as the holder
// is of this machine.
func (l *leftLock) is(lock *run.Lock) bool {
	return l != nil && lock != nil && l.Who != "" && lock.Who == l.Who && !lock.Created.Before(l.From) && !lock.Created.After(l.To)
}

// lockedWords are the messages of the tool that come when it has the lock.
var lockedWords = []string{
	"refresh_start", "refresh_complete", "resource_drift", "planned_change", "change_summary",
	"apply_start", "apply_progress", "apply_complete", "apply_errored", "provision_start", "ephemeral_op_start",
}

// maxLockWords bounds what is read of a process's words to find the first that counts.
const maxLockWords = 1 << 20

// noteLock writes down which lock the run may have left, for the stack's next run here. One that came to its end has
// given it back.
func (j *job) noteLock() {
	if j.space == nil || !j.space.own {
		return
	}
	var left *leftLock
	if j.result.Outcome != run.OutcomeSucceeded {
		for _, step := range []run.Step{run.StepPlan, run.StepApply} {
			if l := readLeftLock(j.spool.path(string(step) + ".out")); l != nil {
				left = l
			}
		}
	}
	if left == nil && (j.space.record.LeftLock == nil || j.result.Outcome != run.OutcomeSucceeded) {
		return
	}
	j.space.record.LeftLock = left
	if err := j.space.save(); err != nil {
		j.opts.Log.Warn("which lock a run may have left was not written down", "run", j.id, "error", err)
	}
}

// readLeftLock finds out from a process's words when it took its lock; nil when it did not come so far, or did not tell.
func readLeftLock(path string) *leftLock {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	left := &leftLock{Who: holderName()}
	lines := bufio.NewScanner(io.LimitReader(file, maxLockWords))
	lines.Buffer(nil, maxLockWords)
	for lines.Scan() {
		var m struct {
			Type string    `json:"type"`
			Time time.Time `json:"@timestamp"`
		}
		switch err := json.Unmarshal(lines.Bytes(), &m); {
		case err != nil || m.Time.IsZero(): // not of the tool's making
		case left.From.IsZero() && m.Type != "version": // its first words are missing
			return nil
		case left.From.IsZero():
			left.From = m.Time
		case slices.Contains(lockedWords, m.Type):
			left.To = m.Time
			return left
		}
	}
	return nil
}

// holderName is how the tool names itself in locks.
func holderName() string {
	who, err := user.Current()
	if err != nil {
		return ""
	}
	host, err := os.Hostname()
	if err != nil {
		return ""
	}
	return who.Username + "@" + host
}

// pastLeftLock breaks the lock that was in a process's way when an earlier run of ours has left it, and runs the process
// again.
func (j *job) pastLeftLock(ctx context.Context, c command, stream *plan.Stream, e exit) (*plan.Stream, exit, error) {
	left := j.space.record.LeftLock
	if left == nil || !j.space.own || e.signal != 0 {
		return stream, e, nil
	}
	lock := lockIn(stream)
	if !left.is(lock) {
		return stream, e, nil
	}
	j.log.note("The lock %s is of an earlier run, whose process was killed", lock.ID)
	j.spec.ForceUnlock = lock.ID
	if err := j.forceUnlock(ctx); err != nil {
		return nil, exit{}, err
	}
	return j.tofu(ctx, c)
}
