// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
	"github.com/yuba-dev/yuba/internal/runs/runner/supervisor"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
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
			if server.held() != "" || !strings.Contains(string(next.log), "belongs to an earlier run, whose process was killed") {
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
	// A user breaks the lock and takes it, on the same machine as the same user.
	theirs := strings.ReplaceAll(strings.ReplaceAll(otherLock, "ci@build7", supervisor.HolderName(&b.runner().Walls)), "2026-11-21T21:28:21.5Z", time.Now().UTC().Format(time.RFC3339Nano))
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

// lastLocked returns the latest time at which the last process in a log got its lock.
func lastLocked(log []byte) (at string) {
	for line := range bytes.Lines(log) {
		var m struct {
			Type string `json:"type"`
			Time string `json:"@timestamp"`
		}
		switch _ = json.Unmarshal(line, &m); { // other lines have no type
		case m.Type == "version":
			at = ""
		case at == "" && slices.Contains([]string{"refresh_start", "planned_change", "change_summary", "apply_start"}, m.Type):
			at = m.Time
		}
	}
	return at
}

// A waiting process gets the lock with the time of its first attempt, so its lock looks like ours
// if it waited for our process.
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
		t.Fatalf("the log does not mention the lock:\n%s", r.log)
	}
	theirs := strings.ReplaceAll(strings.ReplaceAll(otherLock, "ci@build7", supervisor.HolderName(&b.runner().Walls)), "2026-11-21T21:28:21.5Z", locked)
	server.mu.Lock()
	server.lock = []byte(theirs)
	server.mu.Unlock()
	if result := b.do(r.again(run.OperationPlan)); result.Class != run.FailureLocked || server.held() != theirs {
		t.Errorf("%+v, locked: %q", result, server.held())
	}
}
