// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
	"github.com/yuba-dev/yuba/internal/runs/unproven"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

var anID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)

// unproven returns the run's unproven resources as the server would list them.
func (r *fakeRun) unproven() []string {
	e := unproven.Evidence{Trace: r.result.Trace}
	if p := r.result.Plan; p != nil {
		e.Planned = p.Fates
	}
	var err error
	if e.Now, err = unproven.Parse(r.lastState()); err != nil {
		return []string{err.Error()}
	}
	var lines []string
	for _, u := range unproven.Find(e).Objects {
		lines = append(lines, anID.ReplaceAllString(u.String(), "ID"))
	}
	return lines
}

// cutOff kills an apply with its runner, changes the files left, and returns the run with its
// result.
func (b *bench) cutOff(name string, do func(r *fakeRun), change ...func(*fakeRun)) *fakeRun {
	b.t.Helper()
	first := b.process()
	r, _ := b.applying(name, change...)
	pid := b.journal(r).Process.PID
	first.Process.Kill()
	first.Wait()
	killGroup(pid)
	eventually(b.t, "the end of tofu", func() bool { return process.StartTime(pid) == "" })
	do(r)
	b.process()
	b.server.finished(r)
	return r
}

// killGroup kills a tofu and everything that it started.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) } // it may be gone

// overwrite damages a file from an offset: truncated, zeroed or replaced.
func (b *bench) overwrite(path string, change func([]byte) []byte) {
	b.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		b.t.Fatal(err)
	}
	b.put(path, change(data))
}

// The absence of lines in a damaged log proves nothing.
func TestADamagedOutputProvesNothing(t *testing.T) {
	half := func(data []byte) []byte { return data[:len(data)/2+7] }
	zeros := func(data []byte) []byte {
		middle := data[len(data)/3 : len(data)*2/3]
		for i := range middle {
			middle[i] = 0
		}
		return data
	}
	noise := func(data []byte) []byte {
		for i := len(data) / 2; i < len(data)/2+100; i++ {
			data[i] = byte(i * 37)
		}
		return data
	}
	for name, c := range map[string]struct {
		change func([]byte) []byte
		why    string
	}{
		"cut":     {half, ""},
		"emptied": {func([]byte) []byte { return nil }, "lines are gone that were read before"},
		"zeroed":  {zeros, ""},
		"noise":   {noise, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			r := b.cutOff("damaged", func(r *fakeRun) {
				b.overwrite(b.spooled(r, "apply.out"), c.change)
				b.overwrite(b.spooled(r, spool.LogFile), func(data []byte) []byte { return data[:len(data)-1] })
			}, direct)
			trace := r.result.Trace
			if r.result.Outcome != run.OutcomeInterrupted || trace == nil || trace.Whole || c.why != "" && trace.Why != c.why {
				t.Fatalf("%s: %+v", r.result.Outcome, trace)
			}
			found := r.unproven()
			for i, address := range []string{"terraform_data.a", "terraform_data.b"} {
				if len(found) != 2 || !strings.HasPrefix(found[i], address) {
					t.Errorf("unproven: %q", found)
				}
			}
		})
	}
}

// The planned actions are on disk before they start, or once tofu reports them, and outlive all
// other files.
func TestThePlanOutlivesItsOutput(t *testing.T) {
	for name, change := range map[string]struct {
		run   []func(*fakeRun)
		token string // its remains
	}{
		"planned and applied":              {},
		"in one go":                        {run: []func(*fakeRun){direct}},
		"half of the token is left":        {token: run.NewToken()[:32]},
		"the disk has zeros for the token": {token: strings.Repeat("\x00", 64)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			r := b.cutOff("outlives", func(r *fakeRun) {
				for _, left := range []string{"apply.out", "apply.err", spool.LogFile, spool.JournalFile, spool.SpecFile, spool.TokenFile, "plan.out", "plan.err"} {
					if err := os.RemoveAll(b.spooled(r, left)); err != nil {
						t.Fatal(err)
					}
				}
				if change.token != "" {
					b.put(b.spooled(r, spool.TokenFile), []byte(change.token))
				}
			}, change.run...)
			want := []string{"terraform_data.a: may exist, and no state has it", "terraform_data.b: may exist, and no state has it"}
			if diff := cmp.Diff(want, r.unproven()); diff != "" || r.result.Outcome != run.OutcomeInterrupted || !r.result.ApplyStarted {
				t.Errorf("%+v\n%s", r.result, diff)
			}
		})
	}
}

// The state in the spool is damaged; the one in the working directory is not.
func TestADamagedStateIsTakenFromTheWorkingDirectory(t *testing.T) {
	b := newBench(t)
	first := b.process()
	r, open := b.applying("spoiled")
	b.server.stop()
	pid := b.journal(r).Process.PID
	open()
	eventually(t, "a state in the spool", func() bool { return b.journal(r).States == 1 })
	first.Process.Kill()
	first.Wait()
	eventually(t, "the end of tofu", func() bool { return process.StartTime(pid) == "" })
	spooled := b.spooled(r, spool.Dir{Root: b.spooled(r, "")}.StatePath(1))
	intact, err := os.ReadFile(spooled)
	if err != nil {
		t.Fatal(err)
	}
	b.put(spooled, []byte(strings.Replace(string(intact), `"name": "b"`, `"name": "c"`, 1)))
	left := filepath.Join(b.opts.WorkRoot, "team", "spoiled", workspace.SourceDir, workspace.StateName)
	if err := os.MkdirAll(filepath.Dir(left), 0o700); err != nil {
		t.Fatal(err)
	}
	b.put(left, intact)
	if err := os.Remove(b.spooled(r, spool.ResultFile)); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	b.server.start()
	b.process()
	if result := b.server.finished(r); len(r.states) != 1 || string(r.states[0]) != string(intact) || result.StateDigest != spool.Digest(intact) {
		t.Errorf("%d states, %+v", len(r.states), result)
	}
}

// If nothing else is left, the server learns which state it lacks.
func TestAStateThatIsLostIsNamed(t *testing.T) {
	b := newBench(t)
	first := b.process()
	r, open := b.applying("losing")
	b.server.stop()
	open()
	eventually(t, "a result in the spool", func() bool {
		_, err := os.Stat(b.spooled(r, spool.ResultFile))
		return err == nil
	})
	first.Process.Kill()
	first.Wait()
	digest := b.journal(r).StateDigest
	b.overwrite(b.spooled(r, spool.Dir{Root: b.spooled(r, "")}.StatePath(1)), func(data []byte) []byte { return data[:len(data)/2] })
	b.server.start()
	b.process()
	if result := b.server.finished(r); len(r.states) != 0 || result.StateDigest != digest {
		t.Errorf("%d states, %+v", len(r.states), result)
	}
	eventually(t, "what is left of it", func() bool {
		kept, err := filepath.Glob(filepath.Join(b.opts.Dir, "orphans", r.spec.ID, spool.StatesDir, "*"))
		return err == nil && len(kept) == 1
	})
}

// A resource name may contain a secret: it is masked, but still recognized.
func TestMaskedAddressesAreKnownByTheirDigests(t *testing.T) {
	b := newBench(t).start()
	r := b.stack("masked", run.OperationPlanAndApply, program(`
variable "key" { type = string }
resource "terraform_data" "a" { for_each = { (var.key) = "x" } }
resource "terraform_data" "b" {
  input = [for a in terraform_data.a : a.id]
  provisioner "local-exec" { command = "mkfifo gate && cat gate" }
}`))
	r.spec.Variables = map[string]run.Variable{"key": {Value: []byte(`"correct-horse-battery"`), Secret: true}}
	b.server.submit(r)
	b.atGate("masked", "gate")
	killGroup(b.journal(r).Process.PID)
	result := b.server.finished(r)
	want := []run.Fate{
		{Address: `terraform_data.a["(sensitive)"]`, Match: plan.Match(`terraform_data.a["correct-horse-battery"]`), Action: run.ActionCreate},
		{Address: "terraform_data.b", Action: run.ActionCreate},
	}
	got := append([]run.Fate(nil), result.Plan.Fates...)
	if len(got) == 2 && got[0].Address > got[1].Address {
		got[0], got[1] = got[1], got[0]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if steps := result.Trace.Steps; len(steps) != 2 || steps[0].Match != want[0].Match || strings.Contains(steps[0].Address, "horse") {
		t.Errorf("%+v", steps)
	}
}

// A server that lost its record of a run refuses its states; without them an apply would create
// everything again.
func TestNothingIsAppliedWithoutAStateThatNoServerTook(t *testing.T) {
	b := newBench(t).start()
	first := b.stack("unwanted", run.OperationPlanAndApply, program(twoThings))
	first.refuse = 410
	b.do(first)
	next := b.stack("unwanted", run.OperationPlanAndApply, program(twoThings))
	result := b.do(next)
	if result.Outcome != run.OutcomeFailed || result.Class != run.FailureState || result.ApplyStarted || !strings.Contains(result.Error, "yuba state push unwanted") {
		t.Fatalf("%s (%s): %s", result.Outcome, result.Class, result.Error)
	}
	_, rest, _ := strings.Cut(result.Error, "yuba state push unwanted ")
	file, _, _ := strings.Cut(rest, "`")
	state, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	last := b.stack("unwanted", run.OperationPlanAndApply, program(twoThings))
	last.state = state
	if result := b.succeed(last); result.Plan.Changes {
		t.Errorf("%+v", result.Plan)
	}
}

// The server lost its record while the run ended: the next run starts before the state is offered
// and refused.
func TestNothingIsAppliedBeforeAServerAnsweredForAState(t *testing.T) {
	for name, c := range map[string]struct {
		killed bool
		change func(r *fakeRun)
	}{
		"the state is refused":                      {false, func(r *fakeRun) { r.refuse = 410 }},
		"the run is unknown":                        {false, func(r *fakeRun) { r.result = &run.Result{} }},
		"the state is refused, the runner is new":   {true, func(r *fakeRun) { r.refuse = 410 }},
		"the run is unknown, and the runner is new": {true, func(r *fakeRun) { r.result = &run.Result{} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.opts.ServerGone = time.Minute
			runner := b.process()
			r, open := b.applying("unanswered")
			b.server.stop()
			open()
			eventually(t, "a result in the spool", func() bool {
				_, err := os.Stat(b.spooled(r, spool.ResultFile))
				return err == nil
			})
			if c.killed {
				runner.Process.Kill()
				runner.Wait()
			}
			c.change(r)
			next := b.stack("unanswered", run.OperationPlanAndApply, program("output \"o\" { value = 1 }\n"))
			b.server.submit(next)
			b.server.start()
			if c.killed {
				b.process()
			}
			result := b.server.finished(next)
			if result.Outcome != run.OutcomeFailed || result.Class != run.FailureState || result.ApplyStarted {
				t.Fatalf("%s (%s): %s", result.Outcome, result.Class, result.Error)
			}
			_, rest, _ := strings.Cut(result.Error, "yuba state push unanswered ")
			file, _, _ := strings.Cut(rest, "`")
			if state, err := os.ReadFile(file); err != nil || !strings.Contains(string(state), `"name": "b"`) {
				t.Errorf("%v: %s", err, state)
			}
		})
	}
}

// Other or unreadable files beside the kept states do not block applies.
func TestStraysBesideKeptStatesStopNobody(t *testing.T) {
	b := newBench(t).start()
	orphans := filepath.Join(b.opts.Dir, "orphans")
	unreadable := filepath.Join(orphans, "unreadable")
	if err := os.MkdirAll(filepath.Join(unreadable, spool.SpecFile), 0o700); err != nil { // a directory cannot be read as a file
		t.Fatal(err)
	}
	b.put(filepath.Join(orphans, "notes.txt"), []byte("a person's"))
	result := b.succeed(b.stack("other", run.OperationPlanAndApply, program(twoThings)))
	if warned := strings.Join(result.Warnings, "\n"); !strings.Contains(warned, unreadable) || strings.Contains(warned, "notes.txt") {
		t.Errorf("%q", result.Warnings)
	}
}

// The tool reports on a custom backend: after an interrupted apply, and on request.
func TestTheToolListsAStateThatTheServerCannotRead(t *testing.T) {
	b := newBench(t).start()
	own := func(r *fakeRun) {
		r.spec.Backend = run.Backend{Kind: run.BackendOwn, Override: "terraform {\n  backend \"local\" {\n    path = \"own.tfstate\"\n  }\n}\n"}
		r.spec.ReadOutputs = true
	}
	r, _ := b.applying("listed", own)
	killGroup(b.journal(r).Process.PID)
	result := b.server.finished(r)
	if !result.StateListed || len(result.StateHas) != 0 || result.Outcome != run.OutcomeInterrupted || !strings.Contains(result.Error, "killed by signal 9") {
		t.Errorf("%+v", result)
	}
	next := b.stack("listed", run.OperationPlanAndApply, program(twoThings))
	own(next)
	next.spec.ListState, next.spec.NoPlanLock = true, true
	want := []string{plan.Match("terraform_data.a"), plan.Match("terraform_data.b")}
	if result := b.succeed(next); !result.StateListed || cmp.Diff(want, result.StateHas) != "" {
		t.Errorf("%+v", result)
	}
	// So it does after a failed apply: partial results are in the state.
	failing := b.stack("listed", run.OperationPlanAndApply, program(twoThings+`
resource "terraform_data" "c" {
  provisioner "local-exec" {
    command = "exit 3"
  }
}
`))
	own(failing)
	failing.spec.ListState, failing.spec.NoPlanLock = true, true
	want = append(want, plan.Match("terraform_data.c"))
	if result := b.do(failing); result.Outcome != run.OutcomeFailed || !result.StateListed || cmp.Diff(want, result.StateHas) != "" {
		t.Errorf("%+v", result)
	}
}
