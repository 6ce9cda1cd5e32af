// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// spooled returns the path of a file in a run's directory.
func (b *bench) spooled(r *fakeRun, name string) string {
	return filepath.Join(b.opts.Dir, "runs", r.spec.ID, name)
}

// abandoned applies with a runner that dies; tofu ends alone, and its state is not shipped.
func (b *bench) abandoned(name string) *fakeRun {
	b.t.Helper()
	first := b.process()
	r, open := b.applying(name)
	pid := b.journal(r).Process.PID
	first.Process.Kill()
	first.Wait()
	open()
	eventually(b.t, "the end of tofu", func() bool { return process.StartTime(pid) == "" })
	return r
}

func (b *bench) put(path string, data []byte) {
	b.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)); err != nil {
		b.t.Fatal(err)
	}
}

func TestStateOfAnApplyWhoseJournalWasLostIsShipped(t *testing.T) {
	older := func(b *bench, r *fakeRun) {
		j := b.journal(r)
		j.ApplyStarted, j.Process.Step = false, run.StepPlan
		text, err := json.Marshal(j)
		if err != nil {
			t.Fatal(err)
		}
		b.put(b.spooled(r, spool.JournalFile), text)
	}
	empty := func(b *bench, r *fakeRun) { b.put(b.spooled(r, spool.JournalFile), nil) }
	noCopy := func(b *bench, r *fakeRun) {
		if err := os.Remove(b.spooled(r, spool.ApplyFile)); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		tamper  []func(*bench, *fakeRun)
		outcome run.Outcome
	}{
		"it is empty":                       {[]func(*bench, *fakeRun){empty}, run.OutcomeSucceeded},
		"it is older than the apply":        {[]func(*bench, *fakeRun){older}, run.OutcomeSucceeded},
		"it is empty, and its copy is gone": {[]func(*bench, *fakeRun){empty, noCopy}, run.OutcomeInterrupted},
		"it is older, and its copy is gone": {[]func(*bench, *fakeRun){older, noCopy}, run.OutcomeInterrupted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			r := b.abandoned("lostjournal")
			for _, tamper := range c.tamper {
				tamper(b, r)
			}
			b.process()
			result := b.server.finished(r)
			if result.Outcome != c.outcome || c.outcome == run.OutcomeSucceeded && (!result.ApplyStarted || result.AppliedCounts.Add != 2) {
				t.Errorf("%+v", result)
			}
			if len(r.states) != 1 || !strings.Contains(string(r.states[0]), `"name": "b"`) {
				t.Errorf("%d states", len(r.states))
			}
			if n := strings.Count(string(r.log), "terraform_data.a: Creation complete"); n != 1 {
				t.Errorf("%d times in the log:\n%s", n, r.log)
			}
		})
	}
}

func TestStatesOfARunThatNobodyKnowsAreKept(t *testing.T) {
	b := newBench(t)
	r := b.abandoned("lostspec")
	for _, name := range []string{spool.SpecFile, spool.ApplyFile} {
		b.put(b.spooled(r, name), nil)
	}
	if err := os.MkdirAll(b.spooled(r, spool.StatesDir), 0o700); err != nil {
		t.Fatal(err)
	}
	b.put(b.spooled(r, spool.StatesDir+"/000001"), []byte(`{"serial":1}`))
	b.start()
	next := b.stack("lostspec", run.OperationPlan, program(gated))
	result := b.succeed(next)
	if text, err := os.ReadFile(filepath.Join(b.opts.Dir, "orphans", r.spec.ID, spool.StatesDir, "000001")); err != nil || string(text) != `{"serial":1}` {
		t.Errorf("of the spool: %s, %v", text, err)
	}
	text, err := os.ReadFile(filepath.Join(b.opts.Dir, "orphans", next.spec.ID+"-left", workspace.StateName))
	if err != nil || !strings.Contains(string(text), `"name": "b"`) {
		t.Errorf("of the working directory: %s, %v", text, err)
	}
	if len(result.Warnings) != 1 || !strings.Contains(result.Warnings[0], next.spec.ID+"-left") {
		t.Errorf("warnings %q", result.Warnings)
	}
}

// A state that only the working directory has is newer than the stack's: an apply without it would
// create everything again.
func TestNothingIsAppliedWithoutAStateThatWasLeft(t *testing.T) {
	for name, decide := range map[string]func(b *bench, file string, r *fakeRun){
		"the person makes it the state": func(b *bench, file string, r *fakeRun) {
			state, err := os.ReadFile(file)
			if err != nil {
				b.t.Fatal(err)
			}
			r.state = state
		},
		"the person deletes it": func(b *bench, file string, _ *fakeRun) {
			if err := os.Remove(file); err != nil {
				b.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			r := b.abandoned("left")
			if err := os.RemoveAll(b.spooled(r, "")); err != nil {
				t.Fatal(err)
			}
			b.start()
			programs := program(gated)
			var file string
			for range 2 { // also when repeated
				next := b.stack("left", run.OperationPlanAndApply, programs)
				result := b.do(next)
				if result.Outcome != run.OutcomeFailed || result.Class != run.FailureState || result.ApplyStarted || len(next.states) > 0 {
					t.Fatalf("%s (%s): %s", result.Outcome, result.Class, result.Error)
				}
				_, rest, _ := strings.Cut(result.Error, "yuba state push left ")
				file, _, _ = strings.Cut(rest, "`")
			}
			last := b.stack("left", run.OperationPlanAndApply, map[string]string{"main.tf": "output \"o\" { value = 1 }\n"})
			decide(b, file, last)
			b.succeed(last)
		})
	}
}

func TestJournalIsNotOlderThanTheApply(t *testing.T) {
	b := newBench(t).start()
	r, open := b.applying("begun")
	defer open()
	now, err := spool.Dir{Root: b.spooled(r, "")}.ReadJournal()
	if err != nil || !now.ApplyStarted || now.Process.PID == 0 {
		t.Errorf("%+v, %v", now, err)
	}
	var before spool.Journal
	known, err := spool.Dir{Root: b.spooled(r, "")}.ReadJSON(spool.ApplyFile, &before)
	if err != nil || !known || !before.ApplyStarted || before.Initial == "" || before.Process.LogStart == 0 {
		t.Errorf("%+v, %v", before, err)
	}
}

// finishedUntidily restores the leftovers of a run that ended while its server was away, and whose
// runner died before cleaning up.
func (b *bench) finishedUntidily(name string) (r *fakeRun, temp, left string) {
	b.t.Helper()
	first := b.process()
	r, open := b.applying(name)
	b.server.stop()
	open()
	eventually(b.t, "a result in the spool", func() bool {
		_, err := os.Stat(b.spooled(r, spool.ResultFile))
		return err == nil
	})
	first.Process.Kill()
	first.Wait()
	temp = b.journal(r).TempDir
	if err := os.MkdirAll(temp, 0o700); err != nil {
		b.t.Fatal(err)
	}
	left = filepath.Join(b.opts.WorkRoot, "team", name, workspace.SourceDir, workspace.StateName)
	b.put(left, []byte(`{"version":4,"serial":1,"lineage":"l","resources":[],"outputs":{}}`))
	return r, temp, left
}

func TestRunnerKilledBeforeItCleanedUp(t *testing.T) {
	b := newBench(t)
	r, temp, left := b.finishedUntidily("untidy")
	b.server.start()
	b.process()
	if result := b.server.finished(r); result.Outcome != run.OutcomeSucceeded || len(r.states) != 1 {
		t.Errorf("%+v, %d states", result, len(r.states))
	}
	for _, name := range []string{temp, left} {
		if _, err := os.Stat(name); !os.IsNotExist(err) {
			t.Errorf("%s is left (%v)", name, err)
		}
	}
	next := b.succeed(r.again(run.OperationPlan))
	if len(next.Warnings) > 0 {
		t.Errorf("the next run warns: %v", next.Warnings)
	}
}

func TestWhatAFinishedRunLeftStaysForWhoMayNeedIt(t *testing.T) {
	for name, tamper := range map[string]func(b *bench, r *fakeRun){
		"the spool lacks a state": func(b *bench, r *fakeRun) {
			if err := os.Remove(filepath.Join(b.spooled(r, ""), spool.Dir{Root: b.spooled(r, "")}.StatePath(1))); err != nil {
				b.t.Fatal(err)
			}
		},
		"another run of the stack is in the spool": func(b *bench, r *fakeRun) {
			next := r.again(run.OperationPlan)
			dir := filepath.Join(b.opts.Dir, "runs", next.spec.ID)
			if err := os.MkdirAll(dir, 0o700); err != nil {
				b.t.Fatal(err)
			}
			b.put(filepath.Join(dir, spool.SpecFile), execution.Encode(next.spec))
			b.put(filepath.Join(dir, spool.ResultFile), execution.Encode(run.Result{Outcome: run.OutcomeSucceeded}))
			b.put(filepath.Join(dir, spool.JournalFile), execution.Encode(spool.Journal{States: 1})) // whose state is in the working directory only
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			r, _, left := b.finishedUntidily("needed")
			tamper(b, r)
			b.process()
			b.server.start()
			b.server.finished(r)
			if _, err := os.Stat(left); err != nil {
				t.Errorf("what is left is gone: %v", err)
			}
		})
	}
}

// If the server has the result, it may have started another run: a user's shell, in another
// process.
func TestWhatAFinishedRunLeftStaysWhenTheServerHasItsResult(t *testing.T) {
	b := newBench(t)
	r, _, left := b.finishedUntidily("over")
	b.server.mu.Lock()
	r.result = &run.Result{Outcome: run.OutcomeSucceeded}
	b.server.mu.Unlock()
	b.server.start()
	b.process()
	eventually(t, "the end of the run", func() bool {
		_, err := os.Stat(b.spooled(r, spool.SpecFile))
		return os.IsNotExist(err)
	})
	if _, err := os.Stat(left); err != nil {
		t.Errorf("what is there is gone: %v", err)
	}
}
