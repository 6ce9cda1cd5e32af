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

// StepContinue is the time a run waits for the server's word.
const StepContinue run.Step = "continue"

// StepPlace is the time a prepared run waits for its turn. It is no step that anybody hears of.
const StepPlace run.Step = "place"

// Step is a named part of a run.
type Step struct {
	Name run.Step
	Do   func(context.Context) error
}

// ErrNotThisStep says that a step is not one of this run's: it leaves no trace.
var ErrNotThisStep = errors.New("not a step of this run")

// ErrFinished ends the steps early without a failure: there is nothing (more) to do.
var ErrFinished = errors.New("nothing more to do")

// RunSteps runs the steps until one fails, says that nothing is left to do, or the job is asked to stop.
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
			if ctx.Err() != nil && f.Outcome == "" { // the runner is leaving, not the run at fault
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

// report completes the step's report: the processes it ran have added their CPU time to one of its name.
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

// Fail writes a failure into the result. A run that a person has ended is one that failed: it was wanted, and is not tried
// again by itself.
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
	if t.Log != nil && !f.InLog() {
		t.Log.Own("error", strings.ToUpper(t.Result.Error[:1])+t.Result.Error[1:])
	}
}

// What is kept of a diagnosis, in bytes.
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
	if t.Log != nil && t.Log.Problem() != nil && t.DiskProblem == nil {
		t.DiskProblem = t.Log.Problem()
	}
	if t.Log != nil && t.Log.Problem() != nil {
		t.AddWarning("Lines are missing in the log: " + t.Log.Problem().Error())
	}
	if t.DiskProblem != nil && fault.DiskFull(t.DiskProblem) && t.Result.Outcome != run.OutcomeSucceeded {
		t.Result.Class = run.FailureDisk
		t.Result.Error = JoinText(t.Result.Error, t.DiskProblem.Error())
	}
}

func JoinText(a, b string) string {
	if a == "" {
		return b
	}
	return a + "\n" + b
}

func Encode(value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		panic("encode " + err.Error() + ". This is a bug in Yuba.") // values of package run always encode
	}
	return data
}
