// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// maxState is the most that is read of a state. One over the run's limit fails the run, but is shipped: the server may
// refuse it, then it is kept here.
const maxState = 1 << 30

// outputReserve is set aside on disk for the apply's output, beside thrice the state: an encoded state must fit.
const outputReserve = 4 << 20

// applyPlan applies the saved plan and ships every state on the way.
func (j *job) applyPlan(ctx context.Context) error {
	if j.spec.Operation == run.OperationApply && !j.spec.RefreshOnApply {
		if err := j.fetchPlan(ctx); err != nil {
			return err
		}
	}
	c := command{step: run.StepApply, states: j.spec.Backend.Kind == run.BackendManaged, reserve: outputReserve + 3*j.stateSize()}
	c.args = append([]string{"apply", "-json", "-input=false", "-no-color"}, j.parallelism()...)
	if j.space.own {
		c.args = append(c.args, j.lockArgs(false)...)
	}
	if j.space.tool.ComparesVariables() {
		varFiles, err := j.checkedVarFiles()
		if err != nil {
			return err
		}
		c.args = append(c.args, varFiles...)
	}
	c.args = append(c.args, j.heldPath(j.held))
	if err := j.confirmPlan(j.held, j.decided()); err != nil {
		return err
	}
	if err := j.beginApply(); err != nil {
		return err
	}
	j.log.Note("Apply")
	stream, e, err := j.tofu(ctx, c)
	if err == nil {
		stream, e, err = j.pastLeftLock(ctx, c, stream, e)
	}
	if err != nil {
		return err
	}
	if err := j.unchangedPlan(j.held); err != nil {
		j.warn("What was applied may not be what was approved: %v", err)
	}
	j.apply = stream
	j.takeWarnings(stream)
	return j.judgeApply(c, stream, e)
}

// beginApply writes down for certain that an apply begins: not even a power cut may make the next runner take the state
// in the working directory for an old one, or the output that it does not find for a tool that never ran.
func (j *job) beginApply() error {
	j.Lock()
	defer j.Unlock()
	next := j.Journal
	next.ApplyStarted, next.Direct, next.Steps = true, j.direct, j.result.Steps
	next.Process = &process.Record{Step: run.StepApply, LogStart: j.log.Length(), Boot: process.BootID(), Mount: process.MountID(j.Dir.Root), Secured: outputReserve}
	err := errors.Join(j.Dir.WriteJSON(spool.ApplyFile, spool.ApplyRecord{Journal: next, Spec: &j.spec, Token: j.token}), j.Dir.WriteJSON(spool.JournalFile, next))
	for _, end := range []string{spool.OutEnd, spool.ErrEnd} {
		err = errors.Join(err, os.WriteFile(j.Dir.Path(string(run.StepApply)+end), nil, 0o600))
	}
	if err == nil {
		err = j.Dir.Sync(spool.SpecFile, spool.TokenFile, spool.ApplyFile, spool.JournalFile, "", "..")
	}
	if err != nil {
		return fault.New(run.FailureDisk, "begin the apply: what is needed to recover its state could not be written down; nothing was changed: %w", err)
	}
	j.Journal, j.result.ApplyStarted = next, true
	return nil
}

// fetchPlan takes the exact plan that was approved into custody.
func (j *job) fetchPlan(ctx context.Context) error {
	if j.spec.Plan == nil {
		return fault.New("", "apply a saved plan: the run names none. This is a bug in Yuba")
	}
	name, err := j.fetch(ctx, "plan", "plan", orDefault(j.spec.Limits.PlanBytes, run.DefaultLimits().PlanBytes))
	if err != nil {
		return err
	}
	defer os.Remove(name)
	file, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("read plan %s: %w", j.spec.Plan.ID, err)
	}
	defer file.Close()
	if j.held, err = j.hold(file, givenPlan); err != nil {
		return err
	}
	if j.held.digest != j.spec.Plan.Digest {
		return fault.New(run.FailureStalePlan, "apply plan %s: its bytes are not those that were approved (%s instead of %s)", j.spec.Plan.ID, j.held.digest, j.spec.Plan.Digest)
	}
	return nil
}

// decided is the digest of the plan that was decided about: the saved one that the run names, else the one that it made.
func (j *job) decided() string {
	if j.spec.Plan != nil {
		return j.spec.Plan.Digest
	}
	return j.result.Plan.Digest
}

func (j *job) stateSize() int64 {
	info, err := j.space.root.Lstat(j.space.inModule(j.space.stateIn()))
	if err != nil {
		return 0
	}
	return info.Size()
}

// judgeApply says how an apply ended. The end of an adopted process is unknown; then its own summary counts.
func (j *job) judgeApply(c command, stream *plan.Stream, e process.Exit) error {
	counts := run.Counts(stream.Done)
	if !stream.ApplyDone {
		counts = run.Counts(stream.Progress())
	}
	j.result.AppliedCounts = &counts
	succeeded := e.Known && e.Code == 0 && e.Signal == 0
	if !e.Known {
		succeeded = stream.ApplyDone && len(stream.Errors()) == 0
	}
	j.result.Applied = succeeded || len(stream.Errors()) > 0 && e.Signal == 0
	j.result.Trace = j.trace(stream, j.doubt)
	if size, limit := j.stateSize(), j.spec.Limits.StateBytes; limit > 0 && size > limit {
		return fault.New(run.FailureLimit, "keep the state: it has %d bytes, the limit is %d. The apply itself was done; split the stack, or raise the limit", size, limit)
	}
	if succeeded {
		j.result.Trace = nil
		return nil
	}
	err := j.applyError(c, stream, e)
	var f *fault.Failure
	if len(j.rescuedState) > 0 && errors.As(err, &f) {
		f.Class = run.FailureState
		if j.noSpace() {
			f.Class = run.FailureDisk
		}
	}
	return err
}

func (j *job) applyError(c command, stream *plan.Stream, e process.Exit) error {
	if e.Known || len(stream.Errors()) > 0 {
		if !e.Known {
			e.Code = 1
		}
		return j.verdict(c, stream, e, 0)
	}
	return &fault.Failure{Outcome: run.OutcomeInterrupted, Class: run.FailureKilled,
		Err: fmt.Errorf("%s apply ended without a word on what it did, as when it is killed or the machine goes down", j.space.tool.Name)}
}

// offerState ships the state file if it holds a complete state that is new. One over the run's limit has to wait for the end
// of the process: it fails the run in any case, and only the last one is worth its memory.
func (j *job) offerState() {
	j.offerStateUpTo(j.stateLimit())
}

func (j *job) offerStateUpTo(limit int64) {
	file, err := j.space.open(j.space.inModule(j.space.stateIn()))
	if err != nil {
		return // not there yet
	}
	defer file.Close()
	stamp, err := stampFile(file)
	if err != nil || stamp.size == 0 || stamp.size > limit || stamp == j.offered {
		return // being written, or known
	}
	state, err := readUpTo(file, limit)
	if err != nil {
		return
	}
	j.offered = stamp
	j.states.Offer(state) // one that is half written makes another event when it is whole
}

// rescueStates ships what is there when the process has ended: the state file, and the file tofu writes when it
// could not write that. A state that came by another way is newer than both.
func (j *job) rescueStates() {
	if len(j.rescuedState) > 0 {
		return
	}
	j.offered = fileStamp{} // clocks of file systems are coarse: the last one is read in any case
	j.offerStateUpTo(maxState)
	state, err := j.space.read(j.space.inModule(erroredName), maxState)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		j.warn("%s is there and cannot be read: %v", erroredName, err)
	default:
		j.rescued(state, "tofu could write it nowhere but in "+erroredName)
	}
}

// rescued takes a state that tofu could not store where it belongs.
func (j *job) rescued(state []byte, why string) {
	if !spool.Complete(state) {
		return
	}
	j.log.Warn("Rescued the state: %s", why)
	j.rescuedState = j.withNextSerial(state)
	j.states.Offer(j.rescuedState)
}

// withNextSerial counts on from the state before when tofu did not come to that: two states of one serial that differ
// are a conflict for everybody who reads them. An encrypted state is left as it is.
func (j *job) withNextSerial(state []byte) []byte {
	j.Lock()
	last := j.Journal.Serial
	j.Unlock()
	var parts map[string]json.RawMessage
	if json.Unmarshal(state, &parts) != nil || parts["encrypted_data"] != nil || spool.SerialOf(state) > last {
		return state
	}
	parts["serial"] = fmt.Append(nil, last+1)
	next, err := json.Marshal(parts)
	if err != nil {
		return state
	}
	return next
}

// noSpace tries whether a file of the state's size could be written in the working directory.
func (j *job) noSpace() bool {
	const name = planDir + "/space"
	file, err := j.space.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fault.DiskFull(err)
	}
	defer j.space.root.Remove(name) //nolint:errcheck // it is empty, and goes with the directory
	defer file.Close()
	return fault.DiskFull(unix.Fallocate(int(file.Fd()), 0, 0, outputReserve))
}
