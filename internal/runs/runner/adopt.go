// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/runs/confinement"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/fetch"
	"github.com/yuba-dev/yuba/internal/runs/runner/link"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// adoptAll takes over all runs in the spool.
func (r *runner) adoptAll(ctx context.Context) error {
	entries, err := os.ReadDir(r.SpoolDir(""))
	if err != nil {
		return fmt.Errorf("list runs of the previous runner: %w", err)
	}
	for _, entry := range entries {
		if _, err := r.adoptLeft(ctx, entry.Name()); err != nil { // left for a user to examine; others continue
			r.Opts.Log.Error("cannot take over a run of the previous runner; keeping its directory", "run", entry.Name(), "directory", r.SpoolDir(entry.Name()), "error", err)
		}
	}
	return nil
}

// adoption takes over a run that an earlier runner left.
type adoption struct {
	job *job
	// alone is true for a finished run that is the only one of its stack in the spool.
	alone bool
}

// adoptLeft takes over one run. It reports false if there is nothing to take over.
func (r *runner) adoptLeft(ctx context.Context, id string) (bool, error) {
	j := r.newJob(id, "")
	a := &adoption{job: j}
	known, err := j.readSpec()
	if err != nil {
		r.begin(j, a.endUnreached) // until then the run is not over
		return true, fmt.Errorf("take over run %s: %w", j.run.ID, err)
	}
	if !known && confinement.Leader(confinement.Mark(id)) != 0 {
		r.begin(j, func() {
			a.endUnreached()
			a.discardUnknown()
		})
		return true, nil
	}
	if !known { // the runner died before it had the spec
		a.discardUnknown()
		return false, nil
	}
	if j.run.Journal, err = j.run.Dir.ReadJournal(); err != nil {
		r.Opts.Log.Warn("parts of a run's spool cannot be read; using the rest", "run", j.run.ID, "error", err)
	}
	// Lock before accepting new runs: the working directory may have the only copy of a state.
	j.site.Claim = r.Area.Try(j.run.Spec.Stack)
	if _, err := os.Stat(j.run.Dir.Path(spool.ResultFile)); err == nil {
		a.alone = !a.followed() // before any of them can end
	}
	if j.run.Journal.Process.Alive() || a.unrecorded() {
		j.turn.keepPlace()
	}
	r.Opts.Log.Info("taking over a run of the previous runner", "run", j.run.ID, "stack", j.run.Spec.Stack.String())
	r.begin(j, func() { a.adopt(ctx) })
	return true, nil
}

// unrecorded reports whether an apply runs whose runner died before it recorded the process.
func (a *adoption) unrecorded() bool {
	journal := a.job.run.Journal
	return journal.ApplyStarted && (journal.Process == nil || journal.Process.PID == 0) && confinement.Leader(confinement.Mark(a.job.run.ID)) != 0
}

// readSpec reads the run's spec and token. It reports false if they are missing.
func (j *job) readSpec() (known bool, err error) {
	j.run.Token, known, err = j.run.Dir.ReadSpec(&j.run.Spec)
	return known, err
}

// endUnreached ends the processes of a run that cannot be taken over, because the next run must be
// alone in the working directory.
func (a *adoption) endUnreached() {
	limits := a.job.run.Spec.Limits
	if limits.Grace == 0 {
		limits = run.DefaultLimits()
	}
	say := func(format string, args ...any) {
		a.job.run.Opts.Log.Warn(fmt.Sprintf(format, args...), "run", a.job.run.ID)
	}
	var p *process.Process
	if pid := confinement.Leader(confinement.Mark(a.job.run.ID)); pid != 0 {
		p = process.Adopt(&process.Record{PID: pid, Start: process.StartTime(pid), Boot: process.BootID()}, limits, say)
	}
	if p != nil {
		a.job.run.Stop.Attach(p)
		p.Interrupt("its run cannot be taken over")
		p.Wait()
		a.job.run.Stop.Attach(nil)
	}
	if a.job.run.Walls.Alone() {
		return
	}
	if _, err := confinement.EndLeft(confinement.Mark(a.job.run.ID), fetch.LeftPatience); err != nil {
		a.job.run.Opts.Log.Warn("processes of an ended run are still running", "run", a.job.run.ID, "error", err)
	}
}

// adopt brings the run to its end.
func (a *adoption) adopt(ctx context.Context) {
	done, err := a.job.run.Dir.ReadJSON(spool.ResultFile, &a.job.run.Result)
	if err != nil {
		a.job.run.Opts.Log.Warn("cannot read a run's result; determining it again", "run", a.job.run.ID, "error", err)
	}
	if err := a.job.open(ctx, false); err != nil {
		a.job.run.Opts.Log.Error("cannot take over a run of the previous runner", "run", a.job.run.ID, "error", err)
		a.endUnreached()
		a.job.site.Unclaim()
		return
	}
	if done {
		a.job.run.Dir.ForgetIdentityTokens()               // its runner may have died before it did
		if a.job.site.Claim == nil && a.job.run.Unsent() { // the next run of the stack must find a state that the server did not take
			a.job.site.Claim = a.job.run.Area.Lock(a.job.run.Spec.Stack)
		}
		defer a.job.site.Unclaim()
		a.tidyLate(ctx)
		a.job.shipRest()
		a.job.deliver(ctx)
		return
	}
	a.job.run.Result.Steps, a.job.run.Result.Plan, a.job.run.Result.LockFile = slices.Clone(a.job.run.Journal.Steps), a.job.run.Journal.Plan, a.job.run.Journal.LockFile
	a.job.run.Result.ApplyStarted, a.job.program.Direct = a.job.run.Journal.ApplyStarted, a.job.run.Journal.Direct
	a.job.run.Log.Note("A new runner took this run over")
	err = a.takeOver(ctx)
	if a.mayHaveApplied() { // the state file may be the only record
		a.job.keeper.States.Verify()
		a.job.keeper.RescueStates()
	}
	if err != nil {
		var f *fault.Failure
		if !errors.As(err, &f) {
			f = &fault.Failure{Outcome: run.OutcomeInterrupted, Err: err}
		}
		if f.Step == "" {
			f.Step = run.StepApply
		}
		a.job.run.Fail(f)
	}
	a.job.steps.LookAround(ctx)
	a.job.site.Unclaim()
	a.job.conclude(ctx)
}

// tidyLate cleans up after a run whose runner died after the result. It skips a working directory
// that may have the only copy of a state, or another run in it.
func (a *adoption) tidyLate(ctx context.Context) {
	if !a.job.keeper.States.Spooled() || !a.job.keeper.States.Stored() || !a.alone || !a.inHand(ctx) {
		return
	}
	space, err := a.job.run.Area.Open(a.job.site.Order(), a.job.site.TakeClaim())
	if err != nil {
		a.job.run.Opts.Log.Warn("cannot clean up the working directory of a finished run; the next run will", "run", a.job.run.ID, "error", err)
		return
	}
	a.job.site.Space = space
	a.job.tidyWorkspace()
	// The lock stays: the next run must find a state that the server did not take.
	a.job.site.Claim = space.Unlock
	space.Root.Close()
	a.job.site.Space = nil
}

// inHand reports whether the server still waits for the run's end. Until then it starts no other
// run or shell of the stack.
func (a *adoption) inHand(ctx context.Context) bool {
	_, err := a.job.run.Persist(ctx, link.Request{Method: http.MethodGet, Path: "/log"})
	return err == nil
}

// followed reports whether the spool may have another run of the stack: the server may have started
// one before the spool was removed.
func (a *adoption) followed() bool {
	entries, err := os.ReadDir(a.job.run.SpoolDir(""))
	if err != nil {
		return true
	}
	for _, entry := range entries {
		if entry.Name() == a.job.run.ID {
			continue
		}
		other := spool.Dir{Root: a.job.run.SpoolDir(entry.Name())}
		var spec run.Spec
		known, err := other.ReadJSON(spool.SpecFile, &spec)
		if !known { // a run that has started has a log
			_, missing := os.Stat(other.Path(spool.LogFile))
			known = missing != nil
		}
		if err != nil || !known || spec.Stack.String() == a.job.run.Spec.Stack.String() {
			return true
		}
	}
	return false
}

// discardUnknown removes a run without a spec. It keeps its states.
func (a *adoption) discardUnknown() {
	if a.job.run.Dir.LastState() > 0 {
		a.job.orphan()
		return
	}
	a.job.discard()
}

// mayHaveApplied reports whether the state in the working directory may be that of an apply.
func (a *adoption) mayHaveApplied() bool {
	if a.job.site.Space == nil || a.job.steps.NothingDone() || a.job.run.Spec.Backend.Kind != run.BackendManaged {
		return false
	}
	_, err := os.Stat(a.job.run.Dir.Path(string(run.StepApply) + spool.OutEnd))
	if c := a.job.run.Spec.StateChange; c != nil && c.Preview { // it may have changed this copy
		return false
	}
	return a.job.run.Journal.ApplyStarted || a.job.run.Journal.Initial != "" || err == nil
}

// takeOver waits for an apply that still runs, stops anything else, and finds out how it ended.
func (a *adoption) takeOver(ctx context.Context) error {
	found, err := a.job.run.Tools.Find(ctx, a.job.run.Spec.Tool)
	if found.Name == "" { // the tool may be gone; the name is for messages
		found.Name = "tofu"
	}
	a.job.run.Result.ToolVersion = found.Version
	space, openErr := a.job.run.Area.Reopen(a.job.site.Order(), a.job.site.TakeClaim())
	if openErr != nil {
		a.endUnreached()
		return a.lostWorkspace(openErr)
	}
	a.job.site.Space = space
	a.job.site.Space.Tool, a.job.site.Space.Temp = found, a.job.run.Journal.TempDir
	a.job.site.Space.Env = a.job.program.Environment()
	a.job.tokens.Keep(ctx, time.Now())
	if a.job.run.Walls.Users != (space.Record.User != 0) { // the files belong to another user
		space.Tool.Path = ""
	}
	if a.job.run.Spec.Operation == run.OperationShell {
		return a.job.shell.TakeOverShell()
	}
	p := a.survivor()
	if !a.job.run.Journal.ApplyStarted || p != nil && p.Step != run.StepApply {
		return a.giveUp(p)
	}
	if err := a.awaitApply(p); err != nil {
		return err
	}
	if err == nil && space.Tool.Path != "" { // the tool is still there
		a.job.run.RunSteps(ctx, a.job.steps.AfterApply())
		return nil
	}
	a.job.run.Result.Outcome = run.OutcomeSucceeded
	return nil
}

// lostWorkspace is the failure of a run whose working directory cannot be opened.
func (a *adoption) lostWorkspace(err error) error {
	f := &fault.Failure{Step: run.StepApply, Outcome: run.OutcomeInterrupted, Err: fmt.Errorf("the runner died, and the next one cannot take the run over: %w", err)}
	if !a.job.run.Journal.ApplyStarted {
		f.Step = a.job.run.InterruptedStep()
	}
	var cause *fault.Failure
	if errors.As(err, &cause) {
		f.Class = cause.Class
	}
	return f
}

// survivor returns the run's tofu process if it still runs. It finds an unrecorded process by its
// mark or working directory.
func (a *adoption) survivor() *process.Process {
	record := a.job.run.Journal.Process
	if !record.Alive() {
		name := run.StepPrepare
		if a.job.run.Journal.ApplyStarted {
			name = run.StepApply
		}
		pid := 0
		writtenDown := record != nil && record.PID != 0 && record.Step == name
		if !writtenDown || a.job.run.Walls.Alone() { // in its own namespaces everything with the mark ends with tofu
			pid = confinement.Leader(confinement.Mark(a.job.run.ID))
		}
		if pid == 0 && !writtenDown {
			pid = sessionIn(a.job.site.Space)
		}
		if pid == 0 {
			if end := a.job.run.EndLeft(); end != nil {
				end()
			}
			return nil
		}
		logStart := a.job.run.Log.Length()
		if record != nil && record.Step == name { // about to start, or its PID is damaged
			logStart = record.LogStart
		}
		record = &process.Record{Step: name, PID: pid, Start: process.StartTime(pid), Boot: process.BootID(), LogStart: logStart}
		a.job.run.Lock()
		a.job.run.Journal.Process = record
		a.job.run.Unlock()
	}
	p := process.Adopt(record, a.job.run.Spec.Limits, a.job.run.Log.Note)
	if p != nil {
		p.EndLeft = a.job.run.EndLeft()
	}
	return p
}

// sessionIn finds a session leader in the root module that uses the runner's CLI configuration,
// unlike a user's login shell.
func sessionIn(w *workspace.Workspace) int {
	configured := []byte("\x00TF_CLI_CONFIG_FILE=" + filepath.Join(w.Base, workspace.CLIConfigName) + "\x00")
	entries, _ := os.ReadDir("/proc") // best effort
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)); err != nil || cwd != w.Dir {
			continue
		}
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil || !bytes.Contains(slices.Concat([]byte{0}, env, []byte{0}), configured) {
			continue
		}
		if session, err := unix.Getsid(pid); err == nil && session == pid && process.StartTime(pid) != "" {
			return pid
		}
	}
	return 0
}

// giveUp ends a run that has changed nothing yet, or whose apply has ended.
func (a *adoption) giveUp(p *process.Process) error {
	if p != nil {
		a.job.run.Stop.Attach(p)
		p.Interrupt("its runner died")
		e := p.Wait()
		a.job.run.Stop.Attach(nil)
		a.job.program.Orderly[p.Step] = !e.Killed
	}
	if a.job.run.Journal.ApplyStarted {
		return a.awaitApply(nil)
	}
	return &fault.Failure{Step: a.job.run.InterruptedStep(), Outcome: run.OutcomeInterrupted, Err: errors.New("the runner died before anything was applied")}
}

// awaitApply follows an apply to its end and judges it by its output.
func (a *adoption) awaitApply(p *process.Process) error {
	if _, err := os.Stat(a.job.run.Dir.Path(string(run.StepApply) + spool.OutEnd)); err != nil {
		return &fault.Failure{Outcome: run.OutcomeInterrupted, Err: errors.New("the runner died before the apply began")}
	}
	stream, e, err := a.job.program.FollowLeft(p)
	if err != nil {
		return err
	}
	a.job.run.TakeRefusals()
	a.job.run.TakeWarnings(stream)
	return a.job.steps.JudgeLeft(stream, e)
}
