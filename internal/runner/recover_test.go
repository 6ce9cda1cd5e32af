// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/run"
)

// spooled is the path of a file in a run's directory.
func (b *bench) spooled(r *fakeRun, name string) string {
	return filepath.Join(b.opts.Dir, "runs", r.spec.ID, name)
}

// abandoned applies with a runner that dies; tofu ends alone and leaves a state that nobody has shipped.
func (b *bench) abandoned(name string) *fakeRun {
	b.t.Helper()
	first := b.process()
	r, open := b.applying(name)
	pid := b.journal(r).Process.PID
	first.Process.Kill()
	first.Wait()
	open()
	eventually(b.t, "the end of tofu", func() bool { return startTime(pid) == "" })
	return r
}

func (b *bench) put(path string, data []byte) {
	b.t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
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
		b.put(b.spooled(r, journalFile), text)
	}
	empty := func(b *bench, r *fakeRun) { b.put(b.spooled(r, journalFile), nil) }
	noCopy := func(b *bench, r *fakeRun) {
		if err := os.Remove(b.spooled(r, applyFile)); err != nil {
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
	b.put(b.spooled(r, specFile), nil)
	if err := os.MkdirAll(b.spooled(r, statesDir), 0o700); err != nil {
		t.Fatal(err)
	}
	b.put(b.spooled(r, statePath(1)), []byte(`{"serial":1}`))
	b.start()
	next := b.stack("lostspec", run.OperationPlan, program(gated))
	result := b.succeed(next)
	if text, err := os.ReadFile(filepath.Join(b.opts.Dir, "orphans", r.spec.ID, statePath(1))); err != nil || string(text) != `{"serial":1}` {
		t.Errorf("of the spool: %s, %v", text, err)
	}
	text, err := os.ReadFile(filepath.Join(b.opts.Dir, "orphans", next.spec.ID+"-left", stateName))
	if err != nil || !strings.Contains(string(text), `"name": "b"`) {
		t.Errorf("of the working directory: %s, %v", text, err)
	}
	if len(result.Warnings) != 1 || !strings.Contains(result.Warnings[0], next.spec.ID+"-left") {
		t.Errorf("warnings %q", result.Warnings)
	}
}

func TestJournalIsNotOlderThanTheApply(t *testing.T) {
	b := newBench(t).start()
	r, open := b.applying("begun")
	defer open()
	now, err := spool{b.spooled(r, "")}.readJournal()
	if err != nil || !now.ApplyStarted || now.Process.PID == 0 {
		t.Errorf("%+v, %v", now, err)
	}
	var before journal
	text, err := os.ReadFile(b.spooled(r, applyFile))
	if err != nil || json.Unmarshal(text, &before) != nil || !before.ApplyStarted || before.Initial == "" || before.Process.LogStart == 0 {
		t.Errorf("%s, %v", text, err)
	}
}
