// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

func (s *stateServer) held() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.lock)
}

func TestLockThatAKilledApplyLeftIsBroken(t *testing.T) {
	for name, withRunner := range map[string]bool{"tofu was killed": false, "the runner was killed, too": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, server := newBench(t), newStateServer(t)
			first := b.process()
			r, _ := b.applying("leaves", func(r *fakeRun) { server.on(r) })
			pid := b.journal(r).Process.PID
			if withRunner {
				first.Process.Kill()
				first.Wait()
			}
			if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if withRunner {
				eventually(t, "the end of tofu", func() bool { return process.StartTime(pid) == "" })
				b.process()
			}
			if result := b.server.finished(r); result.Outcome != run.OutcomeInterrupted || server.held() == "" {
				t.Fatalf("%+v, locked: %q", result, server.held())
			}
			next := r.again(run.OperationPlan)
			b.succeed(next)
			if server.held() != "" || !strings.Contains(string(next.log), "is of an earlier run, whose process was killed") {
				t.Errorf("locked: %q, log:\n%s", server.held(), next.log)
			}
		})
	}
}

func TestLockOfSomebodyElseIsNotTakenForOneThatWasLeft(t *testing.T) {
	b, server := newBench(t).start(), newStateServer(t)
	r, _ := b.applying("others", func(r *fakeRun) { server.on(r) })
	if err := syscall.Kill(-b.journal(r).Process.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	b.server.finished(r)
	// A person breaks the lock and takes it, on the same machine as the same user.
	theirs := strings.ReplaceAll(strings.ReplaceAll(otherLock, "ci@build7", HolderName(&b.runner().walls)), "2026-11-21T21:28:21.5Z", time.Now().UTC().Format(time.RFC3339Nano))
	server.mu.Lock()
	server.lock = []byte(theirs)
	server.mu.Unlock()
	if result := b.do(r.again(run.OperationPlan)); result.Class != run.FailureLocked || server.held() != theirs {
		t.Errorf("%+v, locked: %q", result, server.held())
	}
}

func TestLeftLockIsKnownByWhoAndWhen(t *testing.T) {
	from := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	left := &workspace.LeftLock{Who: "yuba@host", From: from, To: from.Add(time.Second)}
	for name, c := range map[string]struct {
		left *workspace.LeftLock
		lock *run.Lock
		want bool
	}{
		"taken in that time":           {left, &run.Lock{Who: "yuba@host", Created: from.Add(time.Millisecond)}, true},
		"taken before":                 {left, &run.Lock{Who: "yuba@host", Created: from.Add(-time.Millisecond)}, false},
		"taken later":                  {left, &run.Lock{Who: "yuba@host", Created: from.Add(2 * time.Second)}, false},
		"somebody else's":              {left, &run.Lock{Who: "ci@host", Created: from.Add(time.Millisecond)}, false},
		"of another operation":         {left, &run.Lock{Who: "yuba@host", Operation: "OperationTypeApply", Created: from}, false},
		"none is in the way":           {left, nil, false},
		"none was left":                {nil, &run.Lock{Who: "yuba@host", Created: from}, false},
		"nobody knows who we are":      {&workspace.LeftLock{From: from, To: from}, &run.Lock{Created: from}, false},
		"when it was taken is unknown": {left, &run.Lock{Who: "yuba@host"}, false},
	} {
		if got := c.left.Is(c.lock); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestWordsTellWhenALockWasTaken(t *testing.T) {
	const (
		began   = `{"@level":"info","@message":"OpenTofu 1.12.6","@timestamp":"2026-11-22T10:00:00.000001Z","type":"version"}`
		warned  = `{"@level":"warn","@message":"Warning","@timestamp":"2026-11-22T10:00:01Z","type":"diagnostic"}`
		created = `{"@level":"info","@message":"a: Creating...","@timestamp":"2026-11-22T10:00:02Z","type":"apply_start"}`
		raw     = `not of tofu's making`
	)
	const holder = "runner@here"
	known := &workspace.LeftLock{Who: holder, From: time.Date(2026, 11, 22, 10, 0, 0, 1000, time.UTC), To: time.Date(2026, 11, 22, 10, 0, 2, 0, time.UTC)}
	for name, c := range map[string]struct {
		words []string
		want  *workspace.LeftLock
	}{
		"it did what only the holder may": {[]string{began, raw, warned, created}, known},
		"it only warned":                  {[]string{began, warned}, nil},
		"its first words are missing":     {[]string{created}, nil},
		"it said nothing":                 {nil, nil},
	} {
		path := filepath.Join(t.TempDir(), "apply.out")
		if err := os.WriteFile(path, []byte(strings.Join(c.words, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, readLeftLock(path, holder)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// lastLocked is when the last process in a log had its lock at the latest.
func lastLocked(log []byte) (at string) {
	for line := range bytes.Lines(log) {
		var m struct {
			Type string `json:"type"`
			Time string `json:"@timestamp"`
		}
		switch _ = json.Unmarshal(line, &m); { // what is no JSON has no type
		case m.Type == "version":
			at = ""
		case at == "" && slices.Contains([]string{"refresh_start", "planned_change", "change_summary", "apply_start"}, m.Type):
			at = m.Time
		}
	}
	return at
}

// Who waits for a lock gets it with the time of the first attempt. So the lock of somebody who waited while our process had it looks
// as if it were ours.
func TestProcessThatEndedInGoodOrderLeftNoLock(t *testing.T) {
	b, server := newBench(t).start(), newStateServer(t)
	r := server.on(b.stack("orderly", run.OperationPlanAndApply, program(`
resource "terraform_data" "a" {
  provisioner "local-exec" { command = "false" }
}`)))
	if result := b.do(r); result.FailedStep != run.StepApply || server.held() != "" {
		t.Fatalf("%+v, locked: %q", result, server.held())
	}
	locked := lastLocked(r.log)
	if locked == "" {
		t.Fatalf("nothing tells of a lock:\n%s", r.log)
	}
	theirs := strings.ReplaceAll(strings.ReplaceAll(otherLock, "ci@build7", HolderName(&b.runner().walls)), "2026-11-21T21:28:21.5Z", locked)
	server.mu.Lock()
	server.lock = []byte(theirs)
	server.mu.Unlock()
	if result := b.do(r.again(run.OperationPlan)); result.Class != run.FailureLocked || server.held() != theirs {
		t.Errorf("%+v, locked: %q", result, server.held())
	}
}

func TestEndsThatMayLeaveALock(t *testing.T) {
	failing := &plan.Stream{Diagnostics: diagnostic.List{{Severity: diagnostic.Error, Summary: "Invalid value"}}}
	releasing := &plan.Stream{Diagnostics: diagnostic.List{{Severity: diagnostic.Error, Summary: "Error releasing the state lock"}}}
	for name, c := range map[string]struct {
		step   run.Step
		stream *plan.Stream
		e      process.Exit
		want   bool
	}{
		"it went well":                         {run.StepApply, &plan.Stream{}, process.Exit{Known: true}, true},
		"it failed and said why":               {run.StepApply, failing, process.Exit{Known: true, Code: 1}, true},
		"a plan with changes":                  {run.StepPlan, &plan.Stream{PlanDone: true}, process.Exit{Known: true, Code: 2}, true},
		"nobody saw its end":                   {run.StepApply, &plan.Stream{}, process.Exit{}, false},
		"nobody saw the end that it told of":   {run.StepApply, &plan.Stream{ApplyDone: true}, process.Exit{}, true},
		"it did not stop when it was asked to": {run.StepApply, failing, process.Exit{Killed: true}, false},
		"it was killed":                        {run.StepPlan, &plan.Stream{}, process.Exit{Known: true, Signal: 9}, false},
		"it broke down":                        {run.StepApply, &plan.Stream{}, process.Exit{Known: true, Code: 11}, false},
		"it broke down, as programs in Go do":  {run.StepPlan, &plan.Stream{}, process.Exit{Known: true, Code: 2}, false},
		"it failed without a word":             {run.StepApply, &plan.Stream{}, process.Exit{Known: true, Code: 1}, false},
		"it could not give it back":            {run.StepPlan, releasing, process.Exit{Known: true, Code: 1}, false},
	} {
		if got := gaveBack(c.step, c.stream, c.e); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
