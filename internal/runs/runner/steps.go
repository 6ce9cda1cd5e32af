// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
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

// steps are what the operation is made of.
func (j *job) steps() []step {
	// The state comes after init, which would offer to move the state of a workspace other than default that it finds
	// into the backend that it configures.
	list := []step{{run.StepPrepare, j.prepare}, {stepPlace, j.turn.awaitPlace}, {run.StepInit, j.init.init}, {run.StepPrepare, j.init.placeState}}
	if j.task.spec.ForceUnlock != "" {
		list = append(list, step{run.StepInit, j.locks.forceUnlock})
	}
	switch {
	case j.task.spec.Operation == run.OperationState:
		return append(list, j.changing.stateSteps()...)
	case j.task.spec.Operation == run.OperationShell:
		return append(list, j.shell.shellSteps()...)
	case j.task.spec.Operation != run.OperationApply:
		list = append(list, step{stepContinue, j.applying.beginDirect}, step{run.StepApply, j.applying.applyDirect}, step{run.StepPlan, j.planning.plan})
		if j.task.spec.Describe {
			list = append(list, step{run.StepShow, j.planning.show})
		}
		if j.task.spec.Review {
			list = append(list, step{stepContinue, j.planning.review})
		}
	case j.task.spec.RefreshOnApply:
		list = append(list, step{run.StepPlan, j.planning.compareWithWorld})
	}
	if j.task.spec.Operation != run.OperationPlan {
		list = append(list, step{stepContinue, j.planning.mayApply}, step{run.StepApply, j.applying.applyPlan})
		list = append(list, j.stepsAfterApply()...)
	}
	return list
}

func (j *job) stepsAfterApply() []step {
	if j.task.spec.ReadOutputs || j.task.spec.ReadResources {
		return []step{{run.StepOutput, j.planning.readBack}}
	}
	return nil
}

// runSteps runs the steps until one fails, says that nothing is left to do, or the job is asked to stop.
func (j *job) runSteps(ctx context.Context, steps []step) {
	for _, s := range steps {
		if reason := j.task.stop.asked(); reason != "" && !j.task.result.ApplyStarted {
			j.fail(&fault.Failure{Step: s.name, Outcome: run.OutcomeCanceled, Err: errors.New("stopped: " + reason)})
			return
		}
		started := j.task.now()
		reports := len(j.task.result.Steps)
		err := s.do(ctx)
		if errors.Is(err, errNotThisStep) {
			continue
		}
		j.report(s.name, started, reports)
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
			j.fail(f)
			return
		}
	}
	j.task.result.Outcome = run.OutcomeSucceeded
}

// report completes the step's report: the processes it ran have added their CPU time to one of its name.
func (j *job) report(name run.Step, started time.Time, before int) {
	wall := run.Duration(time.Since(started))
	for i := before; i < len(j.task.result.Steps); i++ {
		if j.task.result.Steps[i].Step == name {
			j.task.result.Steps[i].Started, j.task.result.Steps[i].Wall = started, wall
			return
		}
	}
	j.task.result.Steps = append(j.task.result.Steps, run.StepReport{Step: name, Started: started, Wall: wall})
}

// fail writes a failure into the result. A run that a person has ended is one that failed: it was wanted, and is not tried
// again by itself.
func (j *job) fail(f *fault.Failure) {
	if f.Outcome == run.OutcomeCanceled && j.task.stop.byPerson() {
		f.Outcome, f.Class = run.OutcomeFailed, run.FailureCanceled
	}
	j.task.result.Outcome = f.Outcome
	if f.Outcome == "" {
		j.task.result.Outcome = run.OutcomeFailed
	}
	j.task.result.FailedStep, j.task.result.Class = f.Step, f.Class
	j.task.result.Diagnosis = j.diagnosis(f.Said)
	j.task.result.Error = orText(j.task.mask.Text(f.Error()), "no reason is known. This is a bug in Yuba")
	if j.task.log != nil && !f.InLog() {
		j.task.log.Own("error", strings.ToUpper(j.task.result.Error[:1])+j.task.result.Error[1:])
	}
}

// What is kept of a diagnosis, in bytes.
const (
	maxDiagnosed = 500
	maxDetail    = 4000
)

// diagnosis is the first of the tool's errors, masked before it is cut.
func (j *job) diagnosis(said diagnostic.List) *run.Diagnosis {
	if len(said) == 0 {
		return nil
	}
	first := said[0]
	return &run.Diagnosis{Summary: cutText(j.task.mask.Text(first.Summary), maxDiagnosed), Detail: cutText(j.task.mask.Text(first.Detail), maxDetail),
		Address: cutText(j.task.mask.Text(first.Address), maxDiagnosed)}
}

func cutText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

// complete fills in what is known only at the end.
func (j *job) complete() {
	j.task.Lock()
	defer j.task.Unlock()
	if j.task.result.Outcome == "" {
		j.task.result.Outcome = run.OutcomeInterrupted
	}
	j.task.result.Finished = j.task.now()
	j.task.result.ApplyStarted = j.task.Journal.ApplyStarted
	if j.task.Journal.States > 0 {
		j.task.result.StateDigest = orText(j.task.Journal.StateDigest, j.task.Journal.LostDigest)
	}
	if j.task.log != nil && j.task.log.Problem() != nil && j.task.DiskProblem == nil {
		j.task.DiskProblem = j.task.log.Problem()
	}
	if j.task.log != nil && j.task.log.Problem() != nil {
		j.task.addWarning("Lines are missing in the log: " + j.task.log.Problem().Error())
	}
	if j.task.DiskProblem != nil && fault.DiskFull(j.task.DiskProblem) && j.task.result.Outcome != run.OutcomeSucceeded {
		j.task.result.Class = run.FailureDisk
		j.task.result.Error = joinText(j.task.result.Error, j.task.DiskProblem.Error())
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
