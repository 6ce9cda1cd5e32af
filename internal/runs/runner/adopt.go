// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/runs/confinement"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/link"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
)

// adoptAll takes over what a runner before has left in the spool.
func (r *runner) adoptAll(ctx context.Context) error {
	entries, err := os.ReadDir(r.spoolDir(""))
	if err != nil {
		return fmt.Errorf("look for runs of the runner before: %w", err)
	}
	for _, entry := range entries {
		if _, err := r.adoptLeft(ctx, entry.Name()); err != nil { // it stays for people to look at, and nobody else waits for that
			r.opts.Log.Error("a run of the runner before cannot be taken over; its directory stays", "run", entry.Name(), "directory", r.spoolDir(entry.Name()), "error", err)
		}
	}
	return nil
}

// adoptLeft takes over what is left of one run, false when that is nothing.
func (r *runner) adoptLeft(ctx context.Context, id string) (bool, error) {
	j := r.newJob(id, "")
	known, err := j.readSpec()
	if err != nil {
		r.begin(j, j.endUnreached) // until then the server must not take the run for over
		return true, fmt.Errorf("take over run %s: %w", j.id, err)
	}
	if !known && confinement.Leader(confinement.Mark(id)) != 0 {
		r.begin(j, func() {
			j.endUnreached()
			j.discardUnknown()
		})
		return true, nil
	}
	if !known { // it died before it knew what to do
		j.discardUnknown()
		return false, nil
	}
	if j.Journal, err = j.Dir.ReadJournal(); err != nil {
		r.opts.Log.Warn("parts of what a run has left cannot be read; the rest counts", "run", j.id, "error", err)
	}
	// Before any new run is asked for: what tofu left in the working directory may be all there is of a state.
	j.claim = r.area.try(j.spec.Stack)
	if _, err := os.Stat(j.Dir.Path(spool.ResultFile)); err == nil {
		j.alone = !j.followed() // asked before any of them can have ended
	}
	if j.Journal.Process.Alive() {
		j.keepPlace()
	}
	r.opts.Log.Info("taking over a run of the runner before", "run", j.id, "stack", j.spec.Stack.String())
	r.begin(j, func() { j.adopt(ctx) })
	return true, nil
}

// readSpec reads what the run is, and its token. It is false when that is lost, and an error when it cannot be read.
func (j *job) readSpec() (known bool, err error) {
	j.token, known, err = j.Dir.ReadSpec(&j.spec)
	return known, err
}

// endUnreached ends what runs of a run that cannot be taken over: one SIGINT, and SIGKILL after the grace period. Whoever uses
// the working directory next must be alone in it.
func (j *job) endUnreached() {
	limits := j.spec.Limits
	if limits.Grace == 0 {
		limits = run.DefaultLimits()
	}
	say := func(format string, args ...any) {
		j.opts.Log.Warn(fmt.Sprintf(format, args...), "run", j.id)
	}
	var p *process.Process
	if pid := confinement.Leader(confinement.Mark(j.id)); pid != 0 {
		p = process.Adopt(&process.Record{PID: pid, Start: process.StartTime(pid), Boot: process.BootID()}, limits, say)
	}
	if p != nil {
		j.stop.attach(p)
		p.Interrupt("its run cannot be taken over")
		p.Wait()
		j.stop.attach(nil)
	}
	if j.walls.Alone() {
		return
	}
	if _, err := confinement.EndLeft(confinement.Mark(j.id), leftPatience); err != nil {
		j.opts.Log.Warn("what a run left running still runs", "run", j.id, "error", err)
	}
}

// adopt brings a run of a runner before to its end.
func (j *job) adopt(ctx context.Context) {
	done, err := j.Dir.ReadJSON(spool.ResultFile, &j.result)
	if err != nil {
		j.opts.Log.Warn("a run's result cannot be read; what it did is looked up again", "run", j.id, "error", err)
	}
	if err := j.open(ctx, false); err != nil {
		j.opts.Log.Error("a run of the runner before cannot be taken over", "run", j.id, "error", err)
		j.endUnreached()
		j.unclaim()
		return
	}
	if done {
		if j.claim == nil && j.Unsent() { // the next run of the stack must find a state that nobody takes
			j.claim = j.area.lock(j.spec.Stack)
		}
		defer j.unclaim()
		j.tidyLate(ctx)
		j.shipRest()
		j.deliver(ctx)
		return
	}
	j.result.Steps, j.result.Plan, j.result.LockFile = j.Journal.Steps, j.Journal.Plan, j.Journal.LockFile
	j.result.ApplyStarted, j.direct = j.Journal.ApplyStarted, j.Journal.Direct
	j.log.Note("A new runner took this run over")
	err = j.takeOver(ctx)
	if j.mayHaveApplied() { // the state file may be all there is of what was done
		j.states.Verify()
		j.rescueStates()
	}
	if err != nil {
		var f *fault.Failure
		if !errors.As(err, &f) {
			f = &fault.Failure{Outcome: run.OutcomeInterrupted, Err: err}
		}
		if f.Step == "" {
			f.Step = run.StepApply
		}
		j.fail(f)
	}
	j.lookAround(ctx)
	j.unclaim()
	j.conclude(ctx)
}

// tidyLate cleans up after a run that had its result when its runner died, which may not have come to that. The working
// directory is left alone when it may have the only copy of a state, or another run in it.
func (j *job) tidyLate(ctx context.Context) {
	if !j.states.Spooled() || !j.states.Stored() || !j.alone || !j.inHand(ctx) {
		return
	}
	space, err := j.area.open(j.order(), j.takeClaim())
	if err != nil {
		j.opts.Log.Warn("the working directory of a finished run cannot be cleaned up; the next run does that", "run", j.id, "error", err)
		return
	}
	j.space = space
	j.tidyWorkspace()
	// The lock stays: the next run must find a state that nobody takes.
	j.claim = space.unlock
	space.root.Close()
	j.space = nil
}

// inHand reports whether the server still waits for the run's end. Until it has that, it begins no other run of the stack,
// no person's shell either, which is another process and may be in the working directory.
func (j *job) inHand(ctx context.Context) bool {
	_, err := j.persist(ctx, link.Request{Method: http.MethodGet, Path: "/log"})
	return err == nil
}

// followed reports whether the spool has, or may have, another run of the stack: a server that took this one's result
// may have begun the next before the spool was removed.
func (j *job) followed() bool {
	entries, err := os.ReadDir(j.spoolDir(""))
	if err != nil {
		return true
	}
	for _, entry := range entries {
		if entry.Name() == j.id {
			continue
		}
		other := spool.Dir{Root: j.spoolDir(entry.Name())}
		var spec run.Spec
		known, err := other.ReadJSON(spool.SpecFile, &spec)
		if !known { // one that has come to work has a log
			_, missing := os.Stat(other.Path(spool.LogFile))
			known = missing != nil
		}
		if err != nil || !known || spec.Stack.String() == j.spec.Stack.String() {
			return true
		}
	}
	return false
}

// discardUnknown removes a job that died before it knew what to do. States of one whose spec was lost are kept.
func (j *job) discardUnknown() {
	if j.Dir.LastState() > 0 {
		j.orphan()
		return
	}
	j.discard()
}

// mayHaveApplied reports whether the state in the working directory may be of an apply. When only the journal is lost
// it may be the one put in place before.
func (j *job) mayHaveApplied() bool {
	if j.space == nil || j.nothingDone || j.spec.Backend.Kind != run.BackendManaged {
		return false
	}
	_, err := os.Stat(j.Dir.Path(string(run.StepApply) + spool.OutEnd))
	if c := j.spec.StateChange; c != nil && c.Preview { // it may have been tried on the copy that lies here
		return false
	}
	return j.Journal.ApplyStarted || j.Journal.Initial != "" || err == nil
}

func (j *job) unclaim() {
	if j.claim != nil {
		j.claim()
		j.claim = nil
	}
}

// takeOver waits for an apply that goes on, stops anything else, and finds out what came of it.
func (j *job) takeOver(ctx context.Context) error {
	found, err := j.tools.Find(ctx, j.spec.Tool)
	if found.Name == "" { // it may be gone by now; the name is for messages
		found.Name = "tofu"
	}
	j.result.ToolVersion = found.Version
	space, openErr := j.area.reopen(j.order(), j.takeClaim())
	if openErr != nil {
		j.endUnreached()
		return j.lostWorkspace(openErr)
	}
	j.space = space
	j.space.tool, j.space.temp = found, j.Journal.TempDir
	j.space.env = j.environment()
	if j.walls.Users != (space.record.User != 0) { // the next run gives the files to whom they belong here
		space.tool.Path = ""
	}
	if j.spec.Operation == run.OperationShell {
		return j.takeOverShell()
	}
	p := j.survivor()
	if !j.Journal.ApplyStarted || p != nil && p.Step != run.StepApply {
		return j.giveUp(p)
	}
	if err := j.awaitApply(p); err != nil {
		return err
	}
	if err == nil && space.tool.Path != "" { // the tool is still there
		j.runSteps(ctx, j.stepsAfterApply())
		return nil
	}
	j.result.Outcome = run.OutcomeSucceeded
	return nil
}

// lostWorkspace is the end of a run whose working directory cannot be opened any more. Nobody knows what an apply did there.
func (j *job) lostWorkspace(err error) error {
	f := &fault.Failure{Step: run.StepApply, Outcome: run.OutcomeInterrupted, Err: fmt.Errorf("the runner died, and the next one cannot take the run over: %w", err)}
	if !j.Journal.ApplyStarted {
		f.Step = j.interruptedStep()
	}
	var cause *fault.Failure
	if errors.As(err, &cause) {
		f.Class = cause.Class
	}
	return f
}

// survivor returns the tofu process of the run if it still runs. One that was started, but not written down before
// the runner died, is known by its working directory.
func (j *job) survivor() *process.Process {
	record := j.Journal.Process
	if !record.Alive() {
		name := run.StepPrepare
		if j.Journal.ApplyStarted {
			name = run.StepApply
		}
		pid := 0
		writtenDown := record != nil && record.PID != 0 && record.Step == name
		if !writtenDown || j.walls.Alone() { // in namespaces of its own whatever has the mark ends with tofu
			pid = confinement.Leader(confinement.Mark(j.id))
		}
		if pid == 0 && !writtenDown {
			pid = sessionIn(j.space)
		}
		if pid == 0 {
			if end := j.endLeft(); end != nil {
				end()
			}
			return nil
		}
		logStart := j.log.Length()
		if record != nil && record.Step == name { // about to be started, or its number is damaged
			logStart = record.LogStart
		}
		record = &process.Record{Step: name, PID: pid, Start: process.StartTime(pid), Boot: process.BootID(), LogStart: logStart}
		j.Lock()
		j.Journal.Process = record
		j.Unlock()
	}
	p := process.Adopt(record, j.spec.Limits, j.log.Note)
	if p != nil {
		p.EndLeft = j.endLeft()
	}
	return p
}

// sessionIn finds a process that leads a session and works in the root module with the configuration that the runner has
// placed. A person's login shell may be there, too.
func sessionIn(w *workspace) int {
	configured := []byte("\x00TF_CLI_CONFIG_FILE=" + filepath.Join(w.base, cliConfigName) + "\x00")
	entries, _ := os.ReadDir("/proc") // without it nothing is found
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)); err != nil || cwd != w.dir {
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

// giveUp ends a run in which nothing was changed yet, or whose apply was done with.
func (j *job) giveUp(p *process.Process) error {
	if p != nil {
		j.stop.attach(p)
		p.Interrupt("its runner died")
		e := p.Wait()
		j.stop.attach(nil)
		j.orderly[p.Step] = !e.Killed
	}
	if j.Journal.ApplyStarted {
		return j.awaitApply(nil)
	}
	return &fault.Failure{Step: j.interruptedStep(), Outcome: run.OutcomeInterrupted, Err: errors.New("the runner died before anything was applied")}
}

func (j *job) interruptedStep() run.Step {
	if j.Journal.Process == nil {
		return run.StepPrepare
	}
	return j.Journal.Process.Step
}

// awaitApply follows an apply to its end and judges it by its own words.
func (j *job) awaitApply(p *process.Process) error {
	if _, err := os.Stat(j.Dir.Path(string(run.StepApply) + spool.OutEnd)); err != nil {
		return &fault.Failure{Outcome: run.OutcomeInterrupted, Err: errors.New("the runner died before the apply began")}
	}
	j.processes.Add(1)
	defer j.processes.Add(-1)
	if p != nil && j.direct { // before a wish to stop can reach it
		p.Begun = j.beginning()
		j.begun.Store(j.hadBegun())
	}
	j.stop.attach(p)
	f, err := j.follow(run.StepApply, j.spec.Backend.Kind == run.BackendManaged, false)
	if err != nil {
		if p != nil { // what it leaves is taken when it has ended
			p.Wait()
			j.stop.attach(nil)
		}
		return err
	}
	if j.Journal.Process.Step != run.StepApply { // a later step had begun: the log has all of the apply
		f.out.known, f.errs.known = math.MaxInt, math.MaxInt
	}
	var e process.Exit
	if p != nil {
		p.WatchTime(j.Journal.Process.Age())
		done := j.meter.Watch(j.measured(), p, j.measuredDirs())
		e = p.Wait()
		done()
		j.stop.attach(nil)
	}
	stream := f.end()
	j.orderly[run.StepApply] = gaveBack(run.StepApply, stream, e)
	j.takeWarnings(stream)
	if j.direct {
		return j.judgeDirect(command{step: run.StepApply}, stream, e)
	}
	j.apply = stream
	if j.spec.Operation == run.OperationState {
		return j.judgeChange(command{step: run.StepApply}, stream, e)
	}
	return j.judgeApply(command{step: run.StepApply}, stream, e)
}
