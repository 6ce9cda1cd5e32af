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
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// maxState is the most that is read of a state. One over the run's limit fails the run, but is shipped: the server may
// refuse it, then it is kept here.
const maxState = 1 << 30

// outputReserve is set aside on disk for the apply's output, beside thrice the state: an encoded state must fit.
const outputReserve = 4 << 20

// applyPlan applies the saved plan and ships every state on the way.
func (s *applyStep) applyPlan(ctx context.Context) error {
	if s.task.spec.Operation == run.OperationApply && !s.task.spec.RefreshOnApply {
		if err := s.planning.fetchPlan(ctx); err != nil {
			return err
		}
	}
	c := command{step: run.StepApply, states: s.task.spec.Backend.Kind == run.BackendManaged, reserve: outputReserve + 3*s.site.stateSize()}
	c.args = append([]string{"apply", "-json", "-input=false", "-no-color"}, parallelism(&s.task.spec)...)
	if s.site.space.Own {
		c.args = append(c.args, lockArgs(&s.task.spec, false)...)
	}
	if s.site.space.Tool.ComparesVariables() {
		varFiles, err := s.site.checkedVarFiles()
		if err != nil {
			return err
		}
		c.args = append(c.args, varFiles...)
	}
	c.args = append(c.args, s.site.space.PlanFile(s.planning.held))
	if err := s.site.space.ConfirmPlan(s.planning.held, s.planning.decided()); err != nil {
		return err
	}
	if err := s.program.beginApply(); err != nil {
		return err
	}
	s.task.log.Note("Apply")
	stream, e, err := s.program.tofu(ctx, c)
	if err == nil {
		stream, e, err = s.locks.pastLeftLock(ctx, c, stream, e)
	}
	if err != nil {
		return err
	}
	if err := s.site.space.UnchangedPlan(s.planning.held); err != nil {
		s.task.warn("What was applied may not be what was approved: %v", err)
	}
	s.task.takeWarnings(stream)
	return s.judgeApply(c, stream, e)
}

// beginApply writes down for certain that an apply begins: not even a power cut may make the next runner take the state
// in the working directory for an old one, or the output that it does not find for a tool that never ran.
func (g *supervisor) beginApply() error {
	g.task.Lock()
	defer g.task.Unlock()
	next := g.task.Journal
	next.ApplyStarted, next.Direct, next.Steps = true, g.direct, g.task.result.Steps
	next.Process = &process.Record{Step: run.StepApply, LogStart: g.task.log.Length(), Boot: process.BootID(), Mount: process.MountID(g.task.Dir.Root), Secured: outputReserve}
	err := errors.Join(g.task.Dir.WriteJSON(spool.ApplyFile, spool.ApplyRecord{Journal: next, Spec: &g.task.spec, Token: g.task.token}), g.task.Dir.WriteJSON(spool.JournalFile, next))
	for _, end := range []string{spool.OutEnd, spool.ErrEnd} {
		err = errors.Join(err, os.WriteFile(g.task.Dir.Path(string(run.StepApply)+end), nil, 0o600))
	}
	if err == nil {
		err = g.task.Dir.Sync(spool.SpecFile, spool.TokenFile, spool.ApplyFile, spool.JournalFile, "", "..")
	}
	if err != nil {
		return fault.New(run.FailureDisk, "begin the apply: what is needed to recover its state could not be written down; nothing was changed: %w", err)
	}
	g.task.Journal, g.task.result.ApplyStarted = next, true
	return nil
}

// fetchPlan takes the exact plan that was approved into custody.
func (s *planStep) fetchPlan(ctx context.Context) error {
	if s.task.spec.Plan == nil {
		return fault.New("", "apply a saved plan: the run names none. This is a bug in Yuba")
	}
	name, err := s.task.fetch(ctx, "plan", "plan", s.planLimit())
	if err != nil {
		return err
	}
	defer os.Remove(name)
	file, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("read plan %s: %w", s.task.spec.Plan.ID, err)
	}
	defer file.Close()
	if s.held, err = s.site.space.HoldPlan(file, workspace.GivenPlan, s.planLimit()); err != nil {
		return err
	}
	if s.held.Digest != s.task.spec.Plan.Digest {
		return fault.New(run.FailureStalePlan, "apply plan %s: its bytes are not those that were approved (%s instead of %s)", s.task.spec.Plan.ID, s.held.Digest, s.task.spec.Plan.Digest)
	}
	return nil
}

// decided is the digest of the plan that was decided about: the saved one that the run names, else the one that it made.
func (s *planStep) decided() string {
	if s.task.spec.Plan != nil {
		return s.task.spec.Plan.Digest
	}
	return s.task.result.Plan.Digest
}

func (s *site) stateSize() int64 {
	info, err := s.space.Root.Lstat(s.space.InModule(s.space.StateIn()))
	if err != nil {
		return 0
	}
	return info.Size()
}

// judgeApply says how an apply ended. The end of an adopted process is unknown; then its own summary counts.
func (s *applyStep) judgeApply(c command, stream *plan.Stream, e process.Exit) error {
	counts := run.Counts(stream.Done)
	if !stream.ApplyDone {
		counts = run.Counts(stream.Progress())
	}
	s.task.result.AppliedCounts = &counts
	succeeded := e.Known && e.Code == 0 && e.Signal == 0
	if !e.Known {
		succeeded = stream.ApplyDone && len(stream.Errors()) == 0
	}
	s.task.result.Applied = succeeded || len(stream.Errors()) > 0 && e.Signal == 0
	s.task.result.Trace = s.trace(stream, s.program.doubt)
	if size, limit := s.site.stateSize(), s.task.spec.Limits.StateBytes; limit > 0 && size > limit {
		return fault.New(run.FailureLimit, "keep the state: it has %d bytes, the limit is %d. The apply itself was done; split the stack, or raise the limit", size, limit)
	}
	if succeeded {
		s.task.result.Trace = nil
		return nil
	}
	err := s.applyError(c, stream, e)
	var f *fault.Failure
	if len(s.keeper.rescuedState) > 0 && errors.As(err, &f) {
		f.Class = run.FailureState
		if s.noSpace() {
			f.Class = run.FailureDisk
		}
	}
	return err
}

func (s *applyStep) applyError(c command, stream *plan.Stream, e process.Exit) error {
	if e.Known || len(stream.Errors()) > 0 {
		if !e.Known {
			e.Code = 1
		}
		return s.program.verdict(c, stream, e, 0)
	}
	return &fault.Failure{Outcome: run.OutcomeInterrupted, Class: run.FailureKilled,
		Err: fmt.Errorf("%s apply ended without a word on what it did, as when it is killed or the machine goes down", s.site.space.Tool.Name)}
}

// offerState ships the state file if it holds a complete state that is new. One over the run's limit has to wait for the end
// of the process: it fails the run in any case, and only the last one is worth its memory.
func (k *stateKeeper) offerState() {
	k.offerStateUpTo(k.task.stateLimit())
}

func (k *stateKeeper) offerStateUpTo(limit int64) {
	file, err := k.site.space.Open(k.site.space.InModule(k.site.space.StateIn()))
	if err != nil {
		return // not there yet
	}
	defer file.Close()
	stamp, err := workspace.StampFile(file)
	if err != nil || stamp.Size == 0 || stamp.Size > limit || stamp == k.offered {
		return // being written, or known
	}
	state, err := workspace.ReadUpTo(file, limit)
	if err != nil {
		return
	}
	k.offered = stamp
	k.states.Offer(state) // one that is half written makes another event when it is whole
}

// rescueStates ships what is there when the process has ended: the state file, and the file tofu writes when it
// could not write that. A state that came by another way is newer than both.
func (k *stateKeeper) rescueStates() {
	if len(k.rescuedState) > 0 {
		return
	}
	k.offered = workspace.Stamp{} // clocks of file systems are coarse: the last one is read in any case
	k.offerStateUpTo(maxState)
	state, err := k.site.space.Read(k.site.space.InModule(workspace.ErroredName), maxState)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		k.task.warn("%s is there and cannot be read: %v", workspace.ErroredName, err)
	default:
		k.rescued(state, "tofu could write it nowhere but in "+workspace.ErroredName)
	}
}

// rescued takes a state that tofu could not store where it belongs.
func (k *stateKeeper) rescued(state []byte, why string) {
	if !spool.Complete(state) {
		return
	}
	k.task.log.Warn("Rescued the state: %s", why)
	k.rescuedState = k.withNextSerial(state)
	k.states.Offer(k.rescuedState)
}

// withNextSerial counts on from the state before when tofu did not come to that: two states of one serial that differ
// are a conflict for everybody who reads them. An encrypted state is left as it is.
func (k *stateKeeper) withNextSerial(state []byte) []byte {
	k.task.Lock()
	last := k.task.Journal.Serial
	k.task.Unlock()
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
func (s *applyStep) noSpace() bool {
	const name = workspace.PlanDir + "/space"
	file, err := s.site.space.Root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fault.DiskFull(err)
	}
	defer s.site.space.Root.Remove(name) //nolint:errcheck // it is empty, and goes with the directory
	defer file.Close()
	return fault.DiskFull(unix.Fallocate(int(file.Fd()), 0, 0, outputReserve))
}
