// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/confinement"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
	"github.com/yuba-dev/yuba/internal/tofu/summary"
)

// Locks records and breaks the lock that a killed process left in a custom backend.
type Locks struct {
	run     *execution.Run
	site    *execution.Site
	program *Supervisor
}

// NewLocks returns the locks of a run.
func NewLocks(t *execution.Run, at *execution.Site, program *Supervisor) *Locks {
	return &Locks{run: t, site: at, program: program}
}

// ForceUnlock breaks the lock in a custom backend. If that fails, the plan reports it.
func (l *Locks) ForceUnlock(ctx context.Context) error {
	if !l.site.Space.Own {
		return nil
	}
	c := Command{Step: run.StepInit, Args: []string{"force-unlock", "-force", "-no-color", l.run.Spec.ForceUnlock}}
	stream, e, err := l.program.Tofu(ctx, c)
	if err != nil {
		return err
	}
	err = l.program.Verdict(c, stream, e, 0)
	var f *fault.Failure
	if errors.As(err, &f) && (f.Outcome != "" || f.Class == run.FailureLimit || f.Class == run.FailureKilled) {
		return err
	}
	if err != nil {
		l.run.Warn("the lock %s was not broken: %v", l.run.Spec.ForceUnlock, err)
		return nil
	}
	l.run.Log.Note("Broke the lock %s", l.run.Spec.ForceUnlock)
	return nil
}

// lockIn returns the lock in an error, or nil. Commands without -json print it as text.
func lockIn(stream *plan.Stream) *run.Lock {
	errs := stream.Errors()
	for _, d := range errs {
		if lock := lockInText(d.Detail); lock != nil && d.File == "" && d.Address == "" {
			return lock
		}
	}
	if len(errs) == 0 {
		return lockInText(strings.Join(stream.Raw, "\n"))
	}
	return nil
}

func lockInText(text string) *run.Lock {
	before, info, found := strings.Cut(text, lockInfo)
	if !found {
		return nil
	}
	if held := workspaceLock.FindStringSubmatch(before); held != nil {
		return &run.Lock{ID: held[1]}
	}
	lock := &run.Lock{}
	for _, field := range lockField.FindAllStringSubmatch(info, -1) {
		switch field[1] {
		case "ID":
			lock.ID = field[2]
		case "Operation":
			lock.Operation = field[2]
		case "Who":
			lock.Who = field[2]
		case "Created":
			lock.Created, _ = time.Parse("2006-01-02 15:04:05.999999999 -0700 MST", field[2])
		}
	}
	if lock.ID == "" {
		return nil
	}
	return lock
}

// gaveBack reports whether a process ended normally and released its lock. Code 2 is a Go crash or
// a plan with changes. Without an exit code, the output decides.
func gaveBack(step run.Step, stream *plan.Stream, e process.Exit) bool {
	said := stream.Errors()
	switch {
	case e.Signal != 0 || e.Killed || slices.ContainsFunc(said, func(d diagnostic.Diagnostic) bool { return d.Summary == summary.Release }):
		return false
	case !e.Known:
		return len(said) > 0 || stream.ApplyDone
	}
	return e.Code == 0 || e.Code == 1 && len(said) > 0 || e.Code == 2 && step == run.StepPlan && stream.PlanDone
}

// mayHold returns the steps that may have left a lock: unknown with the stack's own arguments.
func (l *Locks) mayHold() []run.Step {
	var steps []run.Step
	if l.run.OwnArguments() {
		return nil
	}
	if !l.program.Orderly[run.StepPlan] && !l.run.Spec.NoPlanLock && !l.run.Journal.ApplyStarted {
		steps = append(steps, run.StepPlan)
	}
	if !l.program.Orderly[run.StepApply] {
		steps = append(steps, run.StepApply)
	}
	return steps
}

// lockedWords are the types of messages that tofu prints only while it holds the lock.
var lockedWords = []string{
	"refresh_start", "refresh_complete", "resource_drift", "planned_change", "change_summary",
	"apply_start", "apply_progress", "apply_complete", "apply_errored", "provision_start", "ephemeral_op_start",
}

// maxLockWords limits how much output is searched for lockedWords.
const maxLockWords = 1 << 20

// NoteLock records the lock that the run may have left, for the stack's next run.
func (l *Locks) NoteLock() {
	if l.site.Space == nil || !l.site.Space.Own {
		return
	}
	var left *workspace.LeftLock
	if l.run.Result.Outcome != run.OutcomeSucceeded {
		for _, step := range l.mayHold() {
			if found := readLeftLock(l.run.Dir.Path(string(step)+spool.OutEnd), HolderName(&l.run.Walls)); found != nil {
				left, found.Operation = found, lockOperations[step]
			}
		}
	}
	if left == nil && (l.site.Space.Record.LeftLock == nil || l.run.Result.Outcome != run.OutcomeSucceeded) {
		return
	}
	l.site.Space.Record.LeftLock = left
	if err := l.site.Space.Save(); err != nil {
		l.run.Opts.Log.Warn("cannot record the lock that a run may have left", "run", l.run.ID, "error", err)
	}
}

// readLeftLock finds when a process took its lock; nil if it took none or that is unknown.
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
		case err != nil || m.Time.IsZero():
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

// HolderName is the lock holder's name that the tool writes.
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

// PastLeftLock breaks a lock of an earlier run and repeats the process that met it.
func (l *Locks) PastLeftLock(ctx context.Context, c Command, stream *plan.Stream, e process.Exit) (*plan.Stream, process.Exit, error) {
	left := l.site.Space.Record.LeftLock
	if left == nil || !l.site.Space.Own || e.Signal != 0 {
		return stream, e, nil
	}
	lock := lockIn(stream)
	if !left.Is(lock) {
		return stream, e, nil
	}
	l.run.Log.Note("Lock %s belongs to an earlier run, whose process was killed", lock.ID)
	l.run.Spec.ForceUnlock = lock.ID
	if err := l.ForceUnlock(ctx); err != nil {
		return nil, process.Exit{}, err
	}
	return l.program.Tofu(ctx, c)
}
