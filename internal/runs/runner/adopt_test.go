// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// unreadable replaces a file by a directory, so that every read fails.
func (b *bench) unreadable(r *fakeRun, names ...string) {
	b.t.Helper()
	for _, name := range names {
		path := b.spooled(r, name)
		if err := errors.Join(os.RemoveAll(path), os.MkdirAll(path, 0o700)); err != nil {
			b.t.Fatal(err)
		}
	}
}

// orphaned kills a runner while its apply waits at the gate.
func (b *bench) orphaned(name string, change ...func(*fakeRun)) (r *fakeRun, pid int, open func()) {
	b.t.Helper()
	first := b.process()
	r, open = b.applying(name, change...)
	pid = b.journal(r).Process.PID
	first.Process.Kill()
	first.Wait()
	return r, pid, open
}

// With one unreadable or damaged file, the next runner still follows an apply to its end.
func TestAnApplyIsFollowedDespiteOneBadFile(t *testing.T) {
	for name, tamper := range map[string]func(b *bench, r *fakeRun){
		"the journal cannot be read":              func(b *bench, r *fakeRun) { b.unreadable(r, spool.JournalFile) },
		"the journal and the plan cannot be read": func(b *bench, r *fakeRun) { b.unreadable(r, spool.JournalFile, spool.PlannedFile) },
		"the copy cannot be read":                 func(b *bench, r *fakeRun) { b.unreadable(r, spool.ApplyFile) },
		"the result cannot be read":               func(b *bench, r *fakeRun) { b.unreadable(r, spool.ResultFile) },
		"the spec cannot be read":                 func(b *bench, r *fakeRun) { b.unreadable(r, spool.SpecFile) },
		"noise in a word of the spec": func(b *bench, r *fakeRun) {
			b.overwrite(b.spooled(r, spool.SpecFile), func(data []byte) []byte {
				return bytes.Replace(data, []byte(`"kind":"managed"`), []byte("\"kind\":\"m\xffnaged\""), 1)
			})
		},
		"noise in a word of the copy": func(b *bench, r *fakeRun) {
			b.overwrite(b.spooled(r, spool.ApplyFile), func(data []byte) []byte {
				return bytes.Replace(data, []byte(`"kind":"managed"`), []byte("\"kind\":\"m\xffnaged\""), 1)
			})
		},
		"the record of the working directory is damaged": func(b *bench, r *fakeRun) {
			b.overwrite(filepath.Join(b.opts.WorkRoot, "team", "bad", workspace.RecordName), half)
		},
		"a wrong digit in the number of the process": func(b *bench, r *fakeRun) {
			j := b.journal(r)
			wrong := 1
			for process.StartTime(j.Process.PID^wrong) == j.Process.Start { // another test's tofu, of the same moment
				wrong <<= 1
			}
			j.Process.PID ^= wrong
			text, err := json.Marshal(j)
			if err != nil {
				b.t.Fatal(err)
			}
			b.put(b.spooled(r, spool.JournalFile), text)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			r, pid, open := b.orphaned("bad")
			tamper(b, r)
			b.start()
			b.server.wait(r, "the new runner", func() bool { return strings.Contains(string(r.log), "A new runner took this run over") })
			if process.StartTime(pid) == "" {
				t.Error("the runner ended tofu")
			}
			open()
			result := b.server.finished(r)
			if result.Outcome != run.OutcomeSucceeded || result.AppliedCounts.Add != 2 || !strings.Contains(string(r.lastState()), `"name": "b"`) {
				t.Errorf("%s %s: %s, and a state of %d bytes", result.Outcome, result.Class, result.Error, len(r.lastState()))
			}
		})
	}
}

// half is a file as a full disk may leave it.
func half(data []byte) []byte { return data[:len(data)/2] }

// Until tofu has ended, a run that cannot be taken over blocks the next one, which has the same
// directory.
func TestAnApplyThatCannotBeFollowedIsEndedFirst(t *testing.T) {
	for name, tamper := range map[string]func(b *bench, r *fakeRun){
		"neither spec can be read": func(b *bench, r *fakeRun) { b.unreadable(r, spool.SpecFile, spool.ApplyFile) },
		"both specs are damaged": func(b *bench, r *fakeRun) {
			b.overwrite(b.spooled(r, spool.SpecFile), half)
			b.overwrite(b.spooled(r, spool.ApplyFile), half)
		},
		"the log cannot be opened": func(b *bench, r *fakeRun) { b.unreadable(r, spool.LogFile) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			r, pid, open := b.orphaned("lost")
			tamper(b, r)
			b.start()
			eventually(t, "a poll without the run", func() bool {
				return b.server.saw(func(p run.PollRequest) bool { return p.Runner != "" && !slices.Contains(p.Active, r.spec.ID) })
			})
			if process.StartTime(pid) != "" {
				open()
				t.Error("the run has ended while tofu still applies")
			}
			next := b.do(b.stack("lost", run.OperationPlanAndApply, program(twoThings)))
			if next.Class != run.FailureState || next.ApplyStarted {
				t.Errorf("the next run: %s %s: %s", next.Outcome, next.Class, next.Error)
			}
		})
	}
}

// The working directory of a running apply cannot be opened: the runner ends the apply before it
// reports the result, and the written state stays where a user finds it.
func TestAnApplyWhoseWorkingDirectoryCannotBeOpened(t *testing.T) {
	b := newBench(t)
	r, pid, open := b.orphaned("closed")
	base := filepath.Join(b.opts.WorkRoot, "team", "closed")
	if err := os.Rename(base, base+".away"); err != nil {
		t.Fatal(err)
	}
	b.put(base, []byte("not a directory"))
	b.start()
	result := b.server.finished(r)
	if process.StartTime(pid) != "" {
		open()
		t.Error("the run has ended while tofu still applies")
	}
	if result.Outcome != run.OutcomeInterrupted || !result.ApplyStarted || result.Applied || !strings.Contains(result.Error, "working directory of team/closed") {
		t.Errorf("%+v", result)
	}
	if found := r.unproven(); len(found) != 2 {
		t.Errorf("unproven: %q", found)
	}
	if err := errors.Join(os.Remove(base), os.Rename(base+".away", base)); err != nil {
		t.Fatal(err)
	}
	next := b.do(b.stack("closed", run.OperationPlanAndApply, program(twoThings)))
	if next.Class != run.FailureState || next.ApplyStarted {
		t.Errorf("the next run: %s %s: %s", next.Outcome, next.Class, next.Error)
	}
}
