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

	"github.com/yuba-dev/yuba/internal/runs/confinement"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// gaveBack tells whether a process ended in good order, and so without a lock in its hand. A tool that breaks down ends
// with a code of its own; one that was told to say whether there are changes says so with 2. Of an end that nobody saw
// the process's last words tell.
func gaveBack(step run.Step, stream *plan.Stream, e process.Exit) bool {
	said := stream.Errors()
	switch {
	case e.Signal != 0 || e.Killed || slices.ContainsFunc(said, func(d diagnostic.Diagnostic) bool { return d.Summary == releaseSummary }):
		return false
	case !e.Known:
		return len(said) > 0 || stream.ApplyDone
	}
	return e.Code == 0 || e.Code == 1 && len(said) > 0 || e.Code == 2 && step == run.StepPlan && stream.PlanDone
}

// mayHold are the steps whose processes may have died with a lock. An apply begins when its plan is over. With arguments of
// the stack's own, such as -lock=false, nobody knows.
func (l *lockKeeper) mayHold() []run.Step {
	var steps []run.Step
	if l.task.ownArguments() {
		return nil
	}
	if !l.program.orderly[run.StepPlan] && !l.task.spec.NoPlanLock && !l.task.Journal.ApplyStarted {
		steps = append(steps, run.StepPlan)
	}
	if !l.program.orderly[run.StepApply] {
		steps = append(steps, run.StepApply)
	}
	return steps
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
func (l *lockKeeper) noteLock() {
	if l.site.space == nil || !l.site.space.Own {
		return
	}
	var left *workspace.LeftLock
	if l.task.result.Outcome != run.OutcomeSucceeded {
		for _, step := range l.mayHold() {
			if found := readLeftLock(l.task.Dir.Path(string(step)+spool.OutEnd), HolderName(&l.task.walls)); found != nil {
				left, found.Operation = found, lockOperations[step]
			}
		}
	}
	if left == nil && (l.site.space.Record.LeftLock == nil || l.task.result.Outcome != run.OutcomeSucceeded) {
		return
	}
	l.site.space.Record.LeftLock = left
	if err := l.site.space.Save(); err != nil {
		l.task.opts.Log.Warn("which lock a run may have left was not written down", "run", l.task.id, "error", err)
	}
}

// readLeftLock finds out from a process's words when it took its lock; nil when it did not come so far, or did not tell.
func readLeftLock(path, holder string) *workspace.LeftLock {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	left := &workspace.LeftLock{Who: holder}
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

// HolderName is how the tool names itself in locks.
func HolderName(walls *confinement.Walls) string {
	host, err := os.Hostname()
	if err != nil {
		return ""
	}
	if account := walls.Account(); account != "" {
		return account + "@" + host
	}
	who, err := user.Current()
	if err != nil {
		return ""
	}
	return who.Username + "@" + host
}

// pastLeftLock breaks the lock that was in a process's way when an earlier run of ours has left it, and runs the process
// again.
func (l *lockKeeper) pastLeftLock(ctx context.Context, c command, stream *plan.Stream, e process.Exit) (*plan.Stream, process.Exit, error) {
	left := l.site.space.Record.LeftLock
	if left == nil || !l.site.space.Own || e.Signal != 0 {
		return stream, e, nil
	}
	lock := lockIn(stream)
	if !left.Is(lock) {
		return stream, e, nil
	}
	l.task.log.Note("The lock %s is of an earlier run, whose process was killed", lock.ID)
	l.task.spec.ForceUnlock = lock.ID
	if err := l.forceUnlock(ctx); err != nil {
		return nil, process.Exit{}, err
	}
	return l.program.tofu(ctx, c)
}
