// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
)

// gated creates a, then starts b, which waits at a gate: a named pipe that it makes.
const gated = `
resource "terraform_data" "a" { input = "one" }
resource "terraform_data" "b" {
  input = terraform_data.a.id
  provisioner "local-exec" { command = "mkfifo gate && cat gate" }
}
`

// atGate waits until a program of the stack is at a gate, and returns the function that opens it.
func (b *bench) atGate(stack, gate string) (open func()) {
	b.t.Helper()
	path := filepath.Join(b.opts.WorkRoot, "team", stack, "src", gate)
	eventually(b.t, "a program at "+path, func() bool {
		info, err := os.Lstat(path)
		return err == nil && info.Mode()&os.ModeNamedPipe != 0
	})
	return func() {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			b.t.Fatal(err)
		}
		file.Close()
	}
}

// eventually waits until the condition holds.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(60 * time.Second)
	for !condition() {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("waited too long for %s", what)
		}
	}
}

// journal reads a run's journal from the spool.
func (b *bench) journal(r *fakeRun) spool.Journal {
	b.t.Helper()
	var j spool.Journal
	if known, err := (spool.Dir{Root: b.spooled(r, "")}).ReadJSON(spool.JournalFile, &j); err != nil || !known {
		b.t.Fatal(known, err)
	}
	return j
}

// applying starts a run and returns when its apply is at the gate and the log shows that a was
// created.
func (b *bench) applying(name string, change ...func(*fakeRun)) (*fakeRun, func()) {
	b.t.Helper()
	r := b.stack(name, run.OperationPlanAndApply, program(gated))
	for _, c := range change {
		c(r)
	}
	b.server.submit(r)
	open := b.atGate(name, "gate")
	b.server.wait(r, "the creation of a", func() bool { return strings.Contains(string(r.log), "terraform_data.a: Creation complete") })
	return r, open
}

func TestServerThatDiesDuringAnApplyGetsEverythingLater(t *testing.T) {
	b := newBench(t).start()
	r, open := b.applying("orphan")
	b.server.stop()
	open()
	eventually(t, "a state in the spool", func() bool { return b.journal(r).States == 1 })
	if len(r.states) != 0 {
		t.Fatal("the state came to a dead server")
	}
	b.server.start()
	result := b.server.finished(r)
	if result.Outcome != run.OutcomeSucceeded || len(r.states) != 1 || !strings.Contains(string(r.log), "Apply complete!") {
		t.Errorf("%+v, %d states\n%s", result, len(r.states), r.log)
	}
}

// pipe makes a pipe that programs can read, and no run removes.
func (b *bench) pipe(name string) string {
	b.t.Helper()
	gate := filepath.Join(b.opts.ProviderMirror, name)
	if err := errors.Join(os.MkdirAll(b.opts.ProviderMirror, 0o755), syscall.Mkfifo(gate, 0o644), os.Chmod(gate, 0o644)); err != nil {
		b.t.Fatal(err)
	}
	return gate
}

// planning starts a run whose plan waits at a gate, and returns the function that opens it.
func (b *bench) planning(name string, change ...func(*fakeRun)) (*fakeRun, func()) {
	b.t.Helper()
	before := b.stack(name, run.OperationPlan, program(""))
	b.succeed(before)
	gate := b.pipe(name)
	r := b.stack(name, run.OperationPlanAndApply, program(fmt.Sprintf(`resource "terraform_data" "a" { input = file(%q) }`, gate)))
	r.spec.Limits.Grace = run.Duration(500 * time.Millisecond) // a read of a pipe ignores the signal
	for _, c := range change {
		c(r)
	}
	b.server.submit(r)
	// A non-blocking open for writing succeeds once there is a reader.
	var writer *os.File
	eventually(b.t, "a plan at the gate", func() (ok bool) {
		var err error
		writer, err = os.OpenFile(gate, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		return err == nil
	})
	return r, func() {
		if err := os.WriteFile(gate+".open", nil, 0o644); err != nil {
			b.t.Fatal(err)
		}
		if err := os.Rename(gate+".open", gate); err != nil {
			b.t.Fatal(err)
		}
		writer.Close()
	}
}

func TestPlanWaitsForAServerThatIsAway(t *testing.T) {
	b := newBench(t).start()
	r, open := b.planning("waits")
	b.server.stop()
	open()
	eventually(t, "the end of the plan", func() bool { return b.journal(r).Plan != nil })
	b.server.start()
	if result := b.server.finished(r); result.Outcome != run.OutcomeSucceeded || !result.Applied {
		t.Errorf("%+v", result)
	}
}

func TestRunnerKilledDuringAnApply(t *testing.T) {
	for name, before := range map[string]bool{
		"tofu goes on and the next runner waits for it":       false,
		"tofu ends alone and the next runner finds its words": true,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			first := b.process()
			r, open := b.applying("adopted")
			pid := b.journal(r).Process.PID
			if err := first.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			first.Wait()
			if process.StartTime(pid) == "" {
				t.Fatal("tofu died with its runner")
			}
			if before {
				open()
				eventually(t, "the end of tofu", func() bool { return process.StartTime(pid) == "" })
			}
			b.process()
			if !before {
				b.server.wait(r, "the adoption", func() bool { return strings.Contains(string(r.log), "A new runner took this run over") })
				open()
			}
			result := b.server.finished(r)
			if result.Outcome != run.OutcomeSucceeded || !result.Applied || result.AppliedCounts.Add != 2 || result.Trace != nil {
				t.Errorf("%+v\n%s", result, r.log)
			}
			if len(r.states) != 1 || !strings.Contains(string(r.states[0]), `"name": "b"`) {
				t.Errorf("%d states", len(r.states))
			}
			for _, line := range []string{"terraform_data.a: Creation complete", "terraform_data.b: Creation complete", "Apply complete!"} {
				if n := strings.Count(string(r.log), line); n != 1 {
					t.Errorf("%d times %q in\n%s", n, line, r.log)
				}
			}
		})
	}
}

func TestRunnerKilledDuringAPlan(t *testing.T) {
	b := newBench(t)
	first := b.process()
	r, open := b.planning("planning")
	defer open()
	pid := b.journal(r).Process.PID
	first.Process.Kill()
	first.Wait()
	b.process()
	result := b.server.finished(r)
	if result.Outcome != run.OutcomeInterrupted || result.ApplyStarted || result.FailedStep != run.StepPlan {
		t.Errorf("%+v", result)
	}
	if process.StartTime(pid) != "" {
		t.Error("the plan of the dead runner still runs")
	}
}

func TestTofuKilledDuringAnApply(t *testing.T) {
	b := newBench(t).start()
	r, _ := b.applying("killed")
	if err := syscall.Kill(b.journal(r).Process.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	result := b.server.finished(r)
	if result.Outcome != run.OutcomeInterrupted || result.Class != run.FailureKilled || result.Applied {
		t.Errorf("%+v", result)
	}
	want := []string{"terraform_data.a (ID): was created, and no state has it", "terraform_data.b: may exist, and no state has it"}
	if diff := cmp.Diff(want, r.unproven()); diff != "" || !result.Trace.Whole {
		t.Errorf("whole: %v\n%s", result.Trace.Whole, diff)
	}
	if !strings.Contains(result.Error, "signal 9") {
		t.Errorf("error %q", result.Error)
	}
}

func TestRunnerAndTofuKilledDuringAnApply(t *testing.T) {
	b := newBench(t)
	first := b.process()
	r, _ := b.applying("bothkilled")
	pid := b.journal(r).Process.PID
	first.Process.Kill()
	first.Wait()
	if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of tofu", func() bool { return process.StartTime(pid) == "" })
	b.process()
	result := b.server.finished(r)
	if result.Outcome != run.OutcomeInterrupted || !result.ApplyStarted {
		t.Errorf("%+v", result)
	}
	want := []string{"terraform_data.a (ID): was created, and no state has it", "terraform_data.b: may exist, and no state has it"}
	if diff := cmp.Diff(want, r.unproven()); diff != "" || !result.Trace.Whole {
		t.Errorf("%+v\n%s", result.Trace, diff)
	}
}

func TestStateIsShippedWhileTheApplyGoesOn(t *testing.T) {
	if testing.Short() {
		t.Skip("tofu writes a state every 20 seconds at most")
	}
	t.Parallel()
	b := newBench(t).start()
	r := b.server.submit(b.stack("long", run.OperationPlanAndApply, program(`
resource "terraform_data" "a" {}
resource "terraform_data" "b" {
  depends_on = [terraform_data.a]
  provisioner "local-exec" { command = "sleep 20.2" }
}
resource "terraform_data" "c" {
  depends_on = [terraform_data.b]
  provisioner "local-exec" { command = "mkfifo gate && cat gate" }
}`)))
	open := b.atGate("long", "gate")
	b.server.wait(r, "a state", func() bool { return len(r.states) > 0 })
	if !strings.Contains(string(r.states[0]), `"name": "a"`) || r.result != nil {
		t.Errorf("first state:\n%s", r.states[0])
	}
	open()
	if result := b.server.finished(r); result.Outcome != run.OutcomeSucceeded || len(r.states) < 2 {
		t.Errorf("%+v, %d states", result, len(r.states))
	}
}

func TestRefusedStateDoesNotStopTheApply(t *testing.T) {
	b := newBench(t).start()
	r := b.stack("conflict", run.OperationPlanAndApply, program(twoThings))
	r.refuse = 409
	result := b.do(r)
	if result.Class != run.FailureState || result.Outcome != run.OutcomeFailed || !result.Applied || len(r.states) != 1 {
		t.Errorf("%+v", result)
	}
	if !strings.Contains(result.Error, "another writer") {
		t.Errorf("error %q", result.Error)
	}
}

func TestStatesThatNoServerTakesAreKept(t *testing.T) {
	b := newBench(t).start()
	r := b.stack("forgotten", run.OperationPlanAndApply, program(twoThings))
	r.refuse = 410
	b.do(r)
	b.drain()
	kept, err := filepath.Glob(filepath.Join(b.opts.Dir, "orphans", r.spec.ID, spool.StatesDir, "*"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept %v (%v)", kept, err)
	}
	if text, err := os.ReadFile(kept[0]); err != nil || !strings.Contains(string(text), "terraform_data") {
		t.Errorf("%s: %v", text, err)
	}
}

func TestTimeoutSendsOneInterrupt(t *testing.T) {
	b := newBench(t).start()
	r := b.stack("slow", run.OperationPlanAndApply, program(gated))
	r.spec.Limits.Timeout = run.Duration(1500 * time.Millisecond)
	result := b.do(r)
	if result.Class != run.FailureLimit || result.Outcome != run.OutcomeFailed || !strings.Contains(result.Error, "1.5s") {
		t.Errorf("%+v", result)
	}
	if n := strings.Count(string(r.log), "SIGINT"); n != 1 {
		t.Errorf("%d interrupts in\n%s", n, r.log)
	}
	if len(r.states) == 0 || !strings.Contains(string(r.lastState()), `"name": "a"`) {
		t.Errorf("%d states", len(r.states))
	}
}

func TestProcessThatDoesNotStopIsKilled(t *testing.T) {
	b := newBench(t).start()
	r := b.server.submit(b.stack("stubborn", run.OperationPlanAndApply, program(gated)))
	// Enough for the processes before the waiting one, also on a busy machine.
	r.spec.Limits.Timeout, r.spec.Limits.Grace = run.Duration(8*time.Second), run.Duration(time.Nanosecond)
	result := b.server.finished(r)
	if result.Class != run.FailureLimit || result.Outcome != run.OutcomeInterrupted || !strings.Contains(string(r.log), "SIGKILL") {
		t.Errorf("%+v\n%s", result, r.log)
	}
}

func TestCancelStopsAnApplyGracefully(t *testing.T) {
	b := newBench(t).start()
	r, _ := b.applying("cancelled")
	b.server.stopRun(r, "alice")
	result := b.server.finished(r)
	if result.Outcome != run.OutcomeFailed || !strings.Contains(result.Error, "canceled by alice") || len(r.unproven()) > 0 {
		t.Errorf("%+v", result)
	}
	b.server.mu.Lock()
	polls := b.server.polls
	b.server.mu.Unlock()
	if polls > 50 {
		t.Errorf("%d polls", polls)
	}
}

func TestForgottenPlanIsLetGo(t *testing.T) {
	b := newBench(t).start()
	r, open := b.planning("unknown")
	defer open()
	b.server.mu.Lock()
	b.server.forget = []string{r.spec.ID}
	delete(b.server.runs, r.spec.ID)
	b.server.mu.Unlock()
	b.server.notify()
	directory := filepath.Join(b.opts.Dir, "runs", r.spec.ID)
	eventually(t, "the end of the run", func() bool {
		_, err := os.Stat(directory)
		return os.IsNotExist(err)
	})
}
