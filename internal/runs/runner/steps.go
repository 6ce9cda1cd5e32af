// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

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

// stepContinue is the time a run waits for the server's word.
const stepContinue run.Step = "continue"

// stepPlace is the time a prepared run waits for its turn. It is no step that anybody hears of.
const stepPlace run.Step = "place"

// step is a named part of a run.
type step struct {
	name run.Step
	do   func(context.Context) error
}

// errNotThisStep says that a step is not one of this run's: it leaves no trace.
var errNotThisStep = errors.New("not a step of this run")

// errFinished ends the steps early without a failure: there is nothing (more) to do.
var errFinished = errors.New("nothing more to do")

// runSteps runs the steps until one fails, says that nothing is left to do, or the job is asked to stop.
func (t *task) runSteps(ctx context.Context, steps []step) {
	for _, s := range steps {
		if reason := t.stop.asked(); reason != "" && !t.result.ApplyStarted {
			t.fail(&fault.Failure{Step: s.name, Outcome: run.OutcomeCanceled, Err: errors.New("stopped: " + reason)})
			return
		}
		started := t.now()
		reports := len(t.result.Steps)
		err := s.do(ctx)
		if errors.Is(err, errNotThisStep) {
			continue
		}
		t.report(s.name, started, reports)
		if errors.Is(err, errFinished) {
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
				f.Step = s.name
			}
			t.fail(f)
			return
		}
	}
	t.result.Outcome = run.OutcomeSucceeded
}

// report completes the step's report: the processes it ran have added their CPU time to one of its name.
func (t *task) report(name run.Step, started time.Time, before int) {
	wall := run.Duration(time.Since(started))
	for i := before; i < len(t.result.Steps); i++ {
		if t.result.Steps[i].Step == name {
			t.result.Steps[i].Started, t.result.Steps[i].Wall = started, wall
			return
		}
	}
	t.result.Steps = append(t.result.Steps, run.StepReport{Step: name, Started: started, Wall: wall})
}

// fail writes a failure into the result. A run that a person has ended is one that failed: it was wanted, and is not tried
// again by itself.
func (t *task) fail(f *fault.Failure) {
	if f.Outcome == run.OutcomeCanceled && t.stop.byPerson() {
		f.Outcome, f.Class = run.OutcomeFailed, run.FailureCanceled
	}
	t.result.Outcome = f.Outcome
	if f.Outcome == "" {
		t.result.Outcome = run.OutcomeFailed
	}
	t.result.FailedStep, t.result.Class = f.Step, f.Class
	t.result.Diagnosis = t.diagnosis(f.Said)
	t.result.Error = cmp.Or(t.mask.Text(f.Error()), "no reason is known. This is a bug in Yuba")
	if t.log != nil && !f.InLog() {
		t.log.Own("error", strings.ToUpper(t.result.Error[:1])+t.result.Error[1:])
	}
}

// What is kept of a diagnosis, in bytes.
const (
	maxDiagnosed = 500
	maxDetail    = 4000
)

// diagnosis is the first of the tool's errors, masked before it is cut.
func (t *task) diagnosis(said diagnostic.List) *run.Diagnosis {
	if len(said) == 0 {
		return nil
	}
	first := said[0]
	return &run.Diagnosis{Summary: cutText(t.mask.Text(first.Summary), maxDiagnosed), Detail: cutText(t.mask.Text(first.Detail), maxDetail),
		Address: cutText(t.mask.Text(first.Address), maxDiagnosed)}
}

func cutText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

// complete fills in what is known only at the end.
func (t *task) complete() {
	t.Lock()
	defer t.Unlock()
	if t.result.Outcome == "" {
		t.result.Outcome = run.OutcomeInterrupted
	}
	t.result.Finished = t.now()
	t.result.ApplyStarted = t.Journal.ApplyStarted
	if t.Journal.States > 0 {
		t.result.StateDigest = cmp.Or(t.Journal.StateDigest, t.Journal.LostDigest)
	}
	if t.log != nil && t.log.Problem() != nil && t.DiskProblem == nil {
		t.DiskProblem = t.log.Problem()
	}
	if t.log != nil && t.log.Problem() != nil {
		t.addWarning("Lines are missing in the log: " + t.log.Problem().Error())
	}
	if t.DiskProblem != nil && fault.DiskFull(t.DiskProblem) && t.result.Outcome != run.OutcomeSucceeded {
		t.result.Class = run.FailureDisk
		t.result.Error = joinText(t.result.Error, t.DiskProblem.Error())
	}
}

func joinText(a, b string) string {
	if a == "" {
		return b
	}
	return a + "\n" + b
}

func mustJSON(value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		panic("encode " + err.Error() + ". This is a bug in Yuba.") // values of package run always encode
	}
	return data
}
