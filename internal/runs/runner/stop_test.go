// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/supervisor"
	"github.com/yuba-dev/yuba/internal/runs/runner/tools"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// stopRun makes the server stop a run, at a user's request or its own.
func (s *fakeServer) stopRun(r *fakeRun, person string) {
	s.mu.Lock()
	s.cancel = append(s.cancel, r.spec.ID)
	if person != "" {
		s.stops[r.spec.ID] = "canceled by " + person
	}
	s.mu.Unlock()
	s.notify()
}

// A first apply is one process. While it plans, it can be stopped like a plan.
func TestAnApplyInOneGoThatStillPlansIsCalledBack(t *testing.T) {
	b := newBench(t).start()
	r, open := b.planning("hangs", direct)
	defer open()
	b.server.stopRun(r, "")
	result := b.server.finished(r)
	if result.Outcome != run.OutcomeCanceled || result.FailedStep != run.StepPlan || result.ApplyStarted || len(r.states) != 0 || len(result.InDoubt) > 0 {
		t.Errorf("%+v, %d states", result, len(r.states))
	}
	if r.changing {
		t.Error("it was reported as changing something")
	}
}

// Reading a data source is not a change either, and often blocks plans.
func TestAnApplyInOneGoThatReadsIsCalledBack(t *testing.T) {
	b := newBench(t).start()
	b.succeed(b.stack("reads", run.OperationPlan, program("")))
	r, open := b.planning("reads", direct, func(r *fakeRun) {
		r.artifact, r.spec.Artifact = b.other(fmt.Sprintf(`
data "terraform_remote_state" "other" {
  backend = "local"
  config  = { path = %q }
}
resource "terraform_data" "a" { input = data.terraform_remote_state.other.outputs }`, filepath.Join(b.opts.ProviderMirror, "reads")))
	})
	defer open()
	b.server.wait(r, "the beginning of the read", func() bool { return strings.Contains(string(r.log), `"apply_start"`) })
	b.server.stopRun(r, "")
	result := b.server.finished(r)
	if result.Outcome != run.OutcomeCanceled || result.ApplyStarted || len(r.states) != 0 || r.changing {
		t.Errorf("%+v, %d states, changing %v", result, len(r.states), r.changing)
	}
}

func TestAnApplyInOneGoThatHasBegunGoesOn(t *testing.T) {
	b := newBench(t).start()
	r, open := b.applying("begun", direct)
	b.server.wait(r, "the word that it changes something", func() bool { return r.changing })
	b.server.stopRun(r, "")
	eventually(t, "two more polls", func() bool { return b.server.pollsAfter(2) })
	open()
	if result := b.server.finished(r); result.Outcome != run.OutcomeSucceeded || !result.Applied {
		t.Errorf("%+v", result)
	}
}

func TestAPersonEndsAnyRun(t *testing.T) {
	applying := func(b *bench, change ...func(*fakeRun)) (*fakeRun, func()) {
		r, _ := b.applying("apply", change...) // nothing waits at the gate after the run
		return r, func() {}
	}
	for name, c := range map[string]struct {
		begin   func(*bench) (*fakeRun, func())
		step    run.Step
		started bool
	}{
		"a plan":                           {func(b *bench) (*fakeRun, func()) { return b.planning("plan") }, run.StepPlan, false},
		"a first apply that plans":         {func(b *bench) (*fakeRun, func()) { return b.planning("first", direct) }, run.StepPlan, false},
		"an apply":                         {func(b *bench) (*fakeRun, func()) { return applying(b) }, run.StepApply, true},
		"a first apply that has begun":     {func(b *bench) (*fakeRun, func()) { return applying(b, direct) }, run.StepApply, true},
		"an apply that is to finish first": {func(b *bench) (*fakeRun, func()) { return b.callBack(applying(b)) }, run.StepApply, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t).start()
			r, open := c.begin(b)
			defer open()
			b.server.stopRun(r, "alice")
			result := b.server.finished(r)
			if result.Outcome != run.OutcomeFailed || result.Class != run.FailureCanceled || result.FailedStep != c.step || result.ApplyStarted != c.started {
				t.Errorf("%+v", result)
			}
			if !strings.Contains(result.Error, "canceled by alice") || strings.Count(string(r.log), "(SIGINT)") != 1 {
				t.Errorf("%s\n%s", result.Error, r.log)
			}
			if c.started && !strings.Contains(string(r.lastState()), `"name": "a"`) {
				t.Errorf("what was done before is not in the state:\n%s", r.lastState())
			}
		})
	}
}

// callBack asks for the end of an apply, as the server does, and returns when the runner knows.
func (b *bench) callBack(r *fakeRun, open func()) (*fakeRun, func()) {
	b.t.Helper()
	b.server.stopRun(r, "")
	eventually(b.t, "two more polls", func() bool { return b.server.pollsAfter(2) })
	return r, open
}

// The runner kills a process after its grace period, not before.
func TestTheGracePeriodIsTheRunsOwn(t *testing.T) {
	b := newBench(t).start()
	const grace = 2 * time.Second
	r, open := b.planning("grace", func(r *fakeRun) { r.spec.Limits.Grace = run.Duration(grace) })
	defer open()
	asked := time.Now()
	b.server.stopRun(r, "alice")
	result := b.server.finished(r)
	if took := time.Since(asked); took < grace || took > grace+20*time.Second {
		t.Errorf("it took %s", took)
	}
	if result.Class != run.FailureCanceled || !strings.Contains(string(r.log), "did not stop within 2s") {
		t.Errorf("%+v\n%s", result, r.log)
	}
}

// Reading the results of an apply is quick or abandoned: a run's grace period may be an hour.
func TestALookThatHangsIsGivenUp(t *testing.T) {
	b := newBench(t)
	hangs := filepath.Join(t.TempDir(), "tofu")
	if err := os.WriteFile(hangs, []byte("#!/bin/sh\ntrap '' INT\nwhile :; do sleep 0.05; done\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.opts.Tofu = hangs
	runner := b.runner()
	const look = 500 * time.Millisecond
	r := b.stack("looks", run.OperationPlanAndApply, program(twoThings))
	r.spec.Limits.Timeout, r.spec.Limits.Grace = run.Duration(time.Hour), run.Duration(time.Hour)
	j := runner.newJob(r.spec.ID, "")
	j.run.Spec = r.spec
	began := time.Now()
	err := b.within(time.Minute, j, func() error {
		_, err := j.program.Document(t.Context(), supervisor.Command{Step: run.StepShow, Args: []string{"show"}, Timeout: look}, 1000)
		return err
	})
	if took := time.Since(began); took < 2*look {
		t.Errorf("it was given up after %s", took)
	}
	if err == nil || !strings.Contains(err.Error(), "took longer than 500ms") {
		t.Errorf("%v", err)
	}
}

// within lets a job with its own working directory start programs, and kills those that do not end
// in time.
func (b *bench) within(patience time.Duration, j *job, do func() error) error {
	b.t.Helper()
	err := errors.Join(j.run.Dir.Create(), j.open(b.t.Context(), true))
	if err == nil {
		j.site.Space, err = j.run.Area.Open(j.site.Order(), nil)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	defer j.site.Space.Close()
	if err := errors.Join(j.site.Space.Root.MkdirAll(j.site.Space.Module, 0o700), j.site.Space.Root.MkdirAll(workspace.HomeDir, 0o700), j.site.Space.Root.MkdirAll(workspace.TempDir, 0o700)); err != nil {
		b.t.Fatal(err)
	}
	j.site.Space.Tool = tools.Tool{Name: "tofu", Path: j.run.Opts.Tofu}
	j.site.Space.Temp = filepath.Join(j.site.Space.Base, workspace.TempDir)
	j.site.Space.Env = j.program.Environment()
	late := time.AfterFunc(patience, func() {
		b.t.Error("it does not end")
		if p := j.run.Stop.Attached(); p != nil {
			p.Kill("the test is over")
		}
	})
	defer late.Stop()
	return do()
}
