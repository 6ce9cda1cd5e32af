// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"log/slog"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

func direct(r *fakeRun) { r.spec.Direct = true }

// firstApply is a run that may plan and apply in one process.
func (b *bench) firstApply(name, text string) *fakeRun {
	r := b.stack(name, run.OperationPlanAndApply, program(text))
	direct(r)
	return r
}

func TestFirstApplyIsOneProcess(t *testing.T) {
	b := newBench(t).start()
	r := b.firstApply("direct", twoThings)
	result := b.succeed(r)
	if diff := cmp.Diff([]run.Step{run.StepInit, run.StepApply}, processes(result)); diff != "" {
		t.Error(diff)
	}
	two := run.Counts{Add: 2}
	if !result.Applied || !result.ApplyStarted || result.Plan == nil || !result.Plan.Changes || result.Plan.Counts != two || *result.AppliedCounts != two {
		t.Errorf("%+v, plan %+v", result, result.Plan)
	}
	if len(r.states) != 1 || result.StateDigest != spool.Digest(r.states[0]) {
		t.Errorf("%d states", len(r.states))
	}
	// The runner asks the server before there is a plan.
	if diff := cmp.Diff([]run.ContinueRequest{{Step: run.StepApply, State: run.NoState}}, r.asked); diff != "" {
		t.Error(diff)
	}
	// From here on it is like any apply.
	second := b.succeed(r.again(run.OperationPlanAndApply))
	if second.Plan.Changes || second.ApplyStarted {
		t.Errorf("%+v", second)
	}
}

func TestApplyInOneGoIsOnlyForWhatDoesNotExist(t *testing.T) {
	b := newBench(t).start()
	applied := b.firstApply("before", twoThings)
	b.succeed(applied)
	cases := map[string]func(*fakeRun){
		"there is a state":               func(r *fakeRun) { r.state = applied.lastState() },
		"somebody wants to see the plan": func(r *fakeRun) { r.spec.Describe = true },
		"the plan is reviewed": func(r *fakeRun) {
			r.spec.Describe, r.spec.Review, r.review = true, true, run.ContinueResponse{Go: true}
		},
		"it is a look for drift":           func(r *fakeRun) { r.spec.Purpose = run.PurposeDrift },
		"everything is to be destroyed":    func(r *fakeRun) { r.spec.Destroy, r.state = true, applied.lastState() },
		"the tool is to read the outputs":  func(r *fakeRun) { r.spec.ReadOutputs = true },
		"the state may be encrypted":       func(r *fakeRun) { r.artifact, r.spec.Artifact = b.other("# encryption\n" + twoThings) },
		"the server does not allow for it": func(r *fakeRun) { r.spec.Direct = false },
		"a plan has arguments of its own": func(r *fakeRun) {
			r.spec.Env = []run.EnvVar{{Name: "TF_CLI_ARGS_plan", Value: "-target=terraform_data.a"}}
		},
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			r := b.firstApply(strings.ReplaceAll(name, " ", "-"), twoThings)
			change(r)
			result := b.succeed(r)
			if got := processes(result); len(got) == 0 || got[0] != run.StepPlan && (len(got) < 2 || got[1] != run.StepPlan) {
				t.Errorf("the processes were %v", got)
			}
		})
	}
}

// other packs another program.
func (b *bench) other(text string) ([]byte, run.Artifact) {
	r := b.stack("other", run.OperationPlan, program(text))
	return r.artifact, r.spec.Artifact
}

func TestApplyInOneGoOfNothingLeavesNothing(t *testing.T) {
	b := newBench(t).start()
	r := b.firstApply("nothing", "locals { a = 1 }")
	result := b.succeed(r)
	if result.Plan == nil || result.Plan.Changes || result.Applied || result.ApplyStarted || result.AppliedCounts != nil || len(r.states) != 0 || result.StateDigest != "" {
		t.Errorf("%+v, plan %+v, %d states", result, result.Plan, len(r.states))
	}
	outputs := b.firstApply("outputs", `output "o" { value = 1 }`)
	result = b.succeed(outputs)
	if !result.Plan.Changes || !result.Applied || len(outputs.states) != 1 || !strings.Contains(string(outputs.states[0]), `"o"`) {
		t.Errorf("outputs alone: %+v, plan %+v, %d states", result, result.Plan, len(outputs.states))
	}
}

func TestPlanThatFailsInOneGoIsAPlanThatFailed(t *testing.T) {
	b := newBench(t).start()
	for name, text := range map[string]string{
		"a-reference":  `output "o" { value = nothing.at_all }`,
		"a-condition":  "variable \"n\" { default = 1 }\nresource \"terraform_data\" \"a\" {\n  lifecycle {\n    precondition {\n      condition     = var.n > 2\n      error_message = \"no\"\n    }\n  }\n}",
		"half-planned": twoThings + "variable \"n\" { default = 1 }\nresource \"terraform_data\" \"c\" {\n  input = terraform_data.a.input\n  lifecycle {\n    precondition {\n      condition     = var.n > 2\n      error_message = \"no\"\n    }\n  }\n}",
	} {
		t.Run(name, func(t *testing.T) {
			alone := b.stack(name+"-alone", run.OperationPlanAndApply, program(text))
			want := b.do(alone)
			r := b.firstApply(name, text)
			got := b.do(r)
			if got.FailedStep != run.StepPlan || got.ApplyStarted || got.Applied || len(r.states) != 0 {
				t.Errorf("%+v, %d states", got, len(r.states))
			}
			if diff := cmp.Diff([]any{want.Outcome, want.Class, want.FailedStep, want.Error}, []any{got.Outcome, got.Class, got.FailedStep, got.Error}); diff != "" {
				t.Errorf("a plan alone (-), in one go (+):\n%s", diff)
			}
		})
	}
}

func TestApplyThatFailsInOneGo(t *testing.T) {
	b := newBench(t).start()
	r := b.firstApply("failing", `
resource "terraform_data" "a" { input = "one" }
resource "terraform_data" "b" {
  input = terraform_data.a.id
  provisioner "local-exec" { command = "false" }
}`)
	result := b.do(r)
	if result.FailedStep != run.StepApply || !result.ApplyStarted || !result.Applied || result.Outcome != run.OutcomeFailed || len(r.unproven()) > 0 {
		t.Errorf("%+v", result)
	}
	if len(r.states) == 0 || !strings.Contains(string(r.lastState()), `"name": "a"`) {
		t.Errorf("%d states", len(r.states))
	}
}

func TestServerSaysNoToAnApplyInOneGo(t *testing.T) {
	b := newBench(t).start()
	r := b.firstApply("refused", twoThings)
	r.answer = run.ContinueResponse{Outcome: run.OutcomeFailed, Class: run.FailureLocked, Reason: "somebody has the lock"}
	result := b.do(r)
	if result.Class != run.FailureLocked || result.ApplyStarted || len(r.states) != 0 {
		t.Errorf("%+v", result)
	}
	if diff := cmp.Diff([]run.Step{run.StepInit}, processes(result)); diff != "" {
		t.Error(diff)
	}
}

func TestInitThatWasLeftOutIsMadeUpForInOneGo(t *testing.T) {
	b := newBench(t).start()
	b.succeed(b.firstApply("first", twoThings))
	result := b.do(b.firstApply("second", twoThings+twoThings))
	if result.FailedStep != run.StepInit || result.ApplyStarted || result.Init != run.InitRan {
		t.Errorf("%+v", result)
	}
}

func TestTofuKilledInOneGo(t *testing.T) {
	b := newBench(t).start()
	t.Run("while it plans", func(t *testing.T) {
		r, open := b.planning("planning", direct)
		defer open()
		if err := syscall.Kill(b.journal(r).Process.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		result := b.server.finished(r)
		if result.FailedStep != run.StepPlan || result.Class != run.FailureKilled || result.ApplyStarted {
			t.Errorf("%+v", result)
		}
	})
	t.Run("while it applies", func(t *testing.T) {
		r, _ := b.applying("applying", direct)
		if err := syscall.Kill(b.journal(r).Process.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		result := b.server.finished(r)
		if result.Outcome != run.OutcomeInterrupted || result.Class != run.FailureKilled || !result.ApplyStarted {
			t.Errorf("%+v", result)
		}
		want := []string{"terraform_data.a (ID): was created, and no state has it", "terraform_data.b: may exist, and no state has it"}
		if diff := cmp.Diff(want, r.unproven()); diff != "" || len(result.Plan.Fates) != 2 {
			t.Errorf("%+v\n%s", result.Plan, diff)
		}
	})
}

func TestRunnerKilledInOneGo(t *testing.T) {
	t.Run("while tofu plans", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		first := b.process()
		r, open := b.planning("adopted", direct)
		first.Process.Kill()
		first.Wait()
		b.process()
		b.server.wait(r, "the adoption", func() bool { return strings.Contains(string(r.log), "A new runner took this run over") })
		open()
		result := b.server.finished(r)
		if result.Outcome != run.OutcomeSucceeded || !result.Applied || result.AppliedCounts.Add != 1 || len(r.states) != 1 {
			t.Errorf("%+v, %d states\n%s", result, len(r.states), r.log)
		}
	})
	t.Run("while tofu applies", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		first := b.process()
		r, open := b.applying("adopted", direct)
		pid := b.journal(r).Process.PID
		first.Process.Kill()
		first.Wait()
		open()
		eventually(t, "the end of tofu", func() bool { return process.StartTime(pid) == "" })
		b.process()
		result := b.server.finished(r)
		if result.Outcome != run.OutcomeSucceeded || !result.Applied || result.AppliedCounts.Add != 2 || len(r.states) != 1 || !result.Plan.Changes {
			t.Errorf("%+v, %d states\n%s", result, len(r.states), r.log)
		}
	})
	t.Run("while tofu plans what cannot be", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		first := b.process()
		r, open := b.planning("wrong", direct, func(r *fakeRun) {
			r.artifact, r.spec.Artifact = b.other(`
resource "terraform_data" "a" {
  input = file("` + filepath.Join(b.opts.ProviderMirror, "wrong") + `")
  lifecycle {
    postcondition {
      condition     = self.input == "never"
      error_message = "It is not."
    }
  }
}`)
		})
		pid := b.journal(r).Process.PID
		first.Process.Kill()
		first.Wait()
		open()
		eventually(t, "the end of tofu", func() bool { return process.StartTime(pid) == "" })
		b.process()
		result := b.server.finished(r)
		if result.Outcome != run.OutcomeFailed || result.FailedStep != run.StepPlan || result.ApplyStarted || len(r.states) != 0 {
			t.Errorf("%+v, %d states\n%s", result, len(r.states), r.log)
		}
	})
}

func TestTimeoutOfAnApplyInOneGoThatStillPlans(t *testing.T) {
	b := newBench(t).start()
	r, open := b.planning("slow", direct, func(r *fakeRun) { r.spec.Limits.Timeout = run.Duration(5 * time.Second) })
	defer open()
	result := b.server.finished(r)
	if result.Class != run.FailureLimit || result.FailedStep != run.StepPlan || result.ApplyStarted {
		t.Errorf("%+v", result)
	}
}

// If the output exceeded the limit, a runner that takes over may have missed the plan.
func TestApplyInOneGoWhoseBeginningWasMissed(t *testing.T) {
	opts := newBench(t).opts
	opts.Log = slog.New(slog.DiscardHandler)
	j := newRunner(opts).newJob("one", "")
	j.run.Spec.Stack, j.program.Direct = run.Stack{Namespace: "team", Name: "missed", UID: "1"}, true
	err := j.run.Dir.Create()
	if err == nil {
		j.site.Space, err = j.run.Area.Open(j.site.Order(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer j.site.Space.Close()
	end := &plan.Stream{}
	end.Feed([]byte(`{"@level":"info","@message":"Apply complete!","changes":{"add":3,"operation":"apply"},"type":"change_summary"}`))
	if err := j.steps.JudgeLeft(end, process.Exit{}); err != nil || !j.run.Result.Applied || j.steps.NothingDone() {
		t.Errorf("%v: %+v, nothing done: %v", err, j.run.Result, j.steps.NothingDone())
	}
}

// A replayed init is unproven until a plan of any run succeeds with it.
func TestInitThatWasLeftOutIsProvenByAPlan(t *testing.T) {
	b := newBench(t).start()
	b.succeed(b.firstApply("first", twoThings))
	refused := b.firstApply("second", twoThings+twoThings)
	refused.answer = run.ContinueResponse{Outcome: run.OutcomeCanceled, Reason: "not now"}
	if result := b.do(refused); result.Init != run.InitReplayed || result.Outcome != run.OutcomeCanceled {
		t.Fatalf("%+v", result)
	}
	if result := b.do(refused.again(run.OperationPlan)); result.Init != run.InitRan || result.FailedStep != run.StepInit {
		t.Errorf("%+v", result)
	}
	b.succeed(b.firstApply("again", twoThings))
	proven := b.firstApply("third", twoThings)
	if result := b.succeed(proven); result.Init != run.InitReplayed {
		t.Fatalf("%+v", result)
	}
	change := proven.again(run.OperationState)
	change.spec.StateChange = &run.StateChange{Verb: run.StateRemove, Args: []string{"terraform_data.a"}}
	if result := b.succeed(change); result.Init != run.InitUnchanged {
		t.Errorf("a plan has gone well with it: %+v", result)
	}
}

// A run may import existing objects, and that alone is a change.
func TestWhatIsImportedInOneGoIsInTheState(t *testing.T) {
	b := newBench(t).start()
	r := b.firstApply("imported", `
import {
  to = terraform_data.a
  id = "given"
}
resource "terraform_data" "a" {}`)
	result := b.succeed(r)
	if diff := cmp.Diff([]run.Step{run.StepInit, run.StepApply}, processes(result)); diff != "" {
		t.Error(diff)
	}
	if !result.Applied || !result.Plan.Changes || result.AppliedCounts.Import != 1 || len(r.states) == 0 || !strings.Contains(string(r.lastState()), `"given"`) {
		t.Errorf("%+v, plan %+v, %d states", result, result.Plan, len(r.states))
	}
}
