// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// StepContinue is the wait for the server's permission to continue.
const StepContinue run.Step = "continue"

// StepPlace is the wait for a place. It is never reported.
const StepPlace run.Step = "place"

// Step is a named part of a run.
type Step struct {
	Name run.Step
	Do   func(context.Context) error
}

// ErrNotThisStep is the result of a step that does not apply to the run. The step is not reported.
var ErrNotThisStep = errors.New("not a step of this run")

// ErrFinished ends the run early and successfully.
var ErrFinished = errors.New("nothing more to do")

// RunSteps runs the steps until one fails or finishes the run, or until a request to stop.
func (t *Run) RunSteps(ctx context.Context, steps []Step) {
	for _, s := range steps {
		if reason := t.Stop.Asked(); reason != "" && !t.Result.ApplyStarted {
			t.Fail(&fault.Failure{Step: s.Name, Outcome: run.OutcomeCanceled, Err: errors.New("stopped: " + reason)})
			return
		}
		started := t.now()
		reports := len(t.Result.Steps)
		err := s.Do(ctx)
		if errors.Is(err, ErrNotThisStep) {
			continue
		}
		t.report(s.Name, started, reports)
		if errors.Is(err, ErrFinished) {
			break
		}
		if err != nil {
			var f *fault.Failure
			if !errors.As(err, &f) {
				f = &fault.Failure{Err: err}
			}
			if ctx.Err() != nil && f.Outcome == "" { // the runner exits; the run itself did not fail
				f = &fault.Failure{Step: f.Step, Outcome: run.OutcomeInterrupted, Class: f.Class, Err: f.Err}
			}
			if f.Step == "" {
				f.Step = s.Name
			}
			t.Fail(f)
			return
		}
	}
	t.Result.Outcome = run.OutcomeSucceeded
}

// report completes the step's report, to which its processes have added their CPU time.
func (t *Run) report(name run.Step, started time.Time, before int) {
	wall := run.Duration(time.Since(started))
	for i := before; i < len(t.Result.Steps); i++ {
		if t.Result.Steps[i].Step == name {
			t.Result.Steps[i].Started, t.Result.Steps[i].Wall = started, wall
			return
		}
	}
	t.Result.Steps = append(t.Result.Steps, run.StepReport{Step: name, Started: started, Wall: wall})
}

// Fail records a failure. A run that a user stopped counts as failed, so it is not retried.
func (t *Run) Fail(f *fault.Failure) {
	if f.Outcome == run.OutcomeCanceled && t.Stop.ByPerson() {
		f.Outcome, f.Class = run.OutcomeFailed, run.FailureCanceled
	}
	t.Result.Outcome = f.Outcome
	if f.Outcome == "" {
		t.Result.Outcome = run.OutcomeFailed
	}
	t.Result.FailedStep, t.Result.Class = f.Step, f.Class
	t.Result.Diagnosis = t.diagnosis(f.Said)
	t.Result.Error = cmp.Or(t.Mask.Text(f.Error()), "no reason is known. This is a bug in Yuba")
	if why := t.explanation(f.Error() + "\n" + f.Diagnostics().Error()); why != "" {
		defer func() { t.Result.Error = JoinText(t.Result.Error, t.Mask.Text(why)) }() // the log has it already
	}
	if t.Log != nil && !f.InLog() {
		t.Log.Own("error", strings.ToUpper(t.Result.Error[:1])+t.Result.Error[1:])
	}
}

// Limits of a diagnosis, in bytes.
const (
	maxDiagnosed = 500
	maxDetail    = 4000
)

// diagnosis is the first of the tool's errors, masked before it is cut.
func (t *Run) diagnosis(said diagnostic.List) *run.Diagnosis {
	if len(said) == 0 {
		return nil
	}
	first := said[0]
	return &run.Diagnosis{Summary: cutText(t.Mask.Text(first.Summary), maxDiagnosed), Detail: cutText(t.Mask.Text(first.Detail), maxDetail),
		Address: cutText(t.Mask.Text(first.Address), maxDiagnosed)}
}

func cutText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

// Complete fills in what is known only at the end.
func (t *Run) Complete() {
	t.Lock()
	defer t.Unlock()
	if t.Result.Outcome == "" {
		t.Result.Outcome = run.OutcomeInterrupted
	}
	t.Result.Finished = t.now()
	t.Result.ApplyStarted = t.Journal.ApplyStarted
	if t.Journal.States > 0 {
		t.Result.StateDigest = cmp.Or(t.Journal.StateDigest, t.Journal.LostDigest)
	}
	if t.Log != nil && t.Log.Problem() != nil {
		if t.DiskProblem == nil {
			t.DiskProblem = t.Log.Problem()
		}
		t.AddWarning("Lines are missing in the log: " + t.Log.Problem().Error())
	}
	if t.DiskProblem != nil && fault.DiskFull(t.DiskProblem) && t.Result.Outcome != run.OutcomeSucceeded {
		t.Result.Class = run.FailureDisk
		t.Result.Error = JoinText(t.Result.Error, t.DiskProblem.Error())
	}
}

// JoinText joins two texts that may be empty.
func JoinText(a, b string) string {
	if a == "" {
		return b
	}
	return a + "\n" + b
}

// Encode returns the JSON of a value of package run.
func Encode(value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		panic("encode " + err.Error() + ". This is a bug in Yuba.") // values of package run always encode
	}
	return data
}
