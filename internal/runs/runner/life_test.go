// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/confinement"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/tools"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

func TestSecondRunnerOfADirectoryLeaves(t *testing.T) {
	b := newBench(t).start()
	b.succeed(b.stack("one", run.OperationPlan, program(twoThings)))
	second := b.process()
	if err := second.Wait(); err != nil {
		t.Errorf("the second runner: %v", err)
	}
	b.succeed(b.stack("two", run.OperationPlan, program(twoThings)))
}

func TestRunnerFindsARestartedServer(t *testing.T) {
	b := newBench(t).start()
	b.succeed(b.stack("before", run.OperationPlan, program(twoThings)))
	b.server.stop()
	b.server.start()
	b.succeed(b.stack("after", run.OperationPlan, program(twoThings)))
}

func TestIdleRunnerLeavesWhenTheServerIsGone(t *testing.T) {
	b := newBench(t)
	b.opts.ServerGone = 300 * time.Millisecond
	process := b.process()
	b.succeed(b.stack("last", run.OperationPlan, program(twoThings)))
	b.server.stop()
	if err := process.Wait(); err != nil {
		t.Errorf("the runner: %v", err)
	}
}

func TestWaitingPlanIsSpooledWhenTheServerStaysAway(t *testing.T) {
	b := newBench(t)
	b.opts.ServerGone = 300 * time.Millisecond
	process := b.process()
	r, open := b.planning("left")
	b.server.stop()
	open()
	if err := process.Wait(); err != nil {
		t.Errorf("the runner: %v", err)
	}
	b.server.start()
	b.process()
	if result := b.server.finished(r); result.Outcome != run.OutcomeInterrupted || result.ApplyStarted {
		t.Errorf("%+v", result)
	}
}

func TestTerminationStopsPlansAndLetsAppliesFinish(t *testing.T) {
	b := newBench(t)
	process := b.process()
	planning, openPlan := b.planning("planning")
	defer openPlan()
	applying, openApply := b.applying("applying")
	for _, signal := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM} {
		if err := process.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
	}
	if result := b.server.finished(planning); result.Outcome != run.OutcomeCanceled {
		t.Errorf("the plan: %+v", result)
	}
	openApply()
	if result := b.server.finished(applying); result.Outcome != run.OutcomeSucceeded {
		t.Errorf("the apply: %+v", result)
	}
	if err := process.Wait(); err != nil {
		t.Errorf("the runner: %v", err)
	}
}

func TestLogIsCutAtItsLimitAndSaysSo(t *testing.T) {
	b := newBench(t).start()
	r := b.stack("chatty", run.OperationPlanAndApply, program(`
resource "terraform_data" "a" {
  provisioner "local-exec" { command = "yes 'a line of some length' | head -c 500000" }
}`))
	r.spec.Limits.LogBytes = 100_000
	if result := b.do(r); result.Outcome != run.OutcomeSucceeded || result.AppliedCounts.Add != 1 {
		t.Errorf("%+v", result)
	}
	if len(r.log) > 101_000 || !strings.HasSuffix(strings.TrimSpace(string(r.log)), `"type":"yuba_step"}`) || !strings.Contains(string(r.log), "The log was cut here") {
		t.Errorf("%d bytes, the end is %s", len(r.log), r.log[max(0, len(r.log)-300):])
	}
}

func TestStateOverItsLimitFailsTheRunAndIsShipped(t *testing.T) {
	b := newBench(t).start()
	r := b.stack("large", run.OperationPlanAndApply, program(twoThings))
	r.spec.Limits.StateBytes = 100
	if result := b.do(r); result.Class != run.FailureLimit || len(r.states) != 1 {
		t.Errorf("%+v, %d states", result, len(r.states))
	}
}

func TestToolThatDoesNotFitIsSaid(t *testing.T) {
	old := filepath.Join(t.TempDir(), "tofu")
	if err := os.WriteFile(old, []byte("#!/bin/sh\necho '{\"terraform_version\":\"0.14.2\"}'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		standard string
		want     run.Tool
		text     string
	}{
		"the program is missing":         {"/nowhere/tofu", run.Tool{}, "the executable does not exist"},
		"it is too old":                  {old, run.Tool{}, "too old"},
		"its version is not the wanted":  {"", run.Tool{Version: ">= 99"}, "the stack requires tofu >= 99"},
		"the constraint cannot be read":  {"", run.Tool{Version: "newest"}, "newest"},
		"nobody knows such a tool":       {"", run.Tool{Name: "pulumi"}, "only tofu and terraform"},
		"what it prints is no version":   {"/bin/echo", run.Tool{}, "it is not OpenTofu"},
		"it cannot even say its version": {"/bin/false", run.Tool{}, "ask /bin/false for its version"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			if c.standard != "" {
				b.opts.Tofu = c.standard
			}
			b.start()
			r := b.stack("tool", run.OperationPlan, program(twoThings))
			r.spec.Tool = c.want
			result := b.do(r)
			if result.Class != run.FailureTool || !strings.Contains(result.Error, c.text) {
				t.Errorf("%s: %s", result.Class, result.Error)
			}
		})
	}
}

func TestKernelWithoutLandlockIsSaid(t *testing.T) {
	b := newBench(t).unconfined().start()
	r := b.stack("open", run.OperationPlan, program(twoThings))
	result := b.succeed(r)
	warned := strings.Join(result.Warnings, "\n")
	if result.Confined || !strings.Contains(warned, "tofu runs unconfined: Landlock: this kernel has no Landlock") || !strings.Contains(warned, "namespaces: this kernel has no namespaces") {
		t.Errorf("%+v", result)
	}
}

func TestMissingSandboxIsAnError(t *testing.T) {
	b := newBench(t)
	b.opts.Sandbox = "/nowhere/yuba-sandbox"
	if err := Run(context.Background(), b.opts); err == nil || !strings.Contains(err.Error(), "/nowhere/yuba-sandbox") {
		t.Errorf("%v", err)
	}
}

func TestTofuGetsABuiltEnvironment(t *testing.T) {
	t.Setenv("SECRET_OF_THE_PARENT", "x")
	b := newBench(t).start()
	r := b.stack("env", run.OperationPlanAndApply, program(`
resource "terraform_data" "a" {
  provisioner "local-exec" { command = "env | sort; tr '\\0' ' ' < /proc/$PPID/cmdline; true" }
}`))
	r.spec.Env = []run.EnvVar{{Name: "MINE", Value: "given"}, {Name: "HOME", Value: "/root"}, {Name: "TF_DATA_DIR", Value: "/tmp"}}
	b.succeed(r)
	log := string(r.log)
	cell := confinement.Cell{Home: filepath.Join(b.opts.WorkRoot, "team", "env", workspace.HomeDir), Temp: workspace.TempPrefix}
	walls := b.walls()
	for _, part := range []string{"MINE=given", "HOME=" + walls.HomeOf(cell) + `"`, "TMPDIR=" + walls.TempOf(cell), "TF_IN_AUTOMATION=1", "PATH=" + tools.SystemPath} {
		if !strings.Contains(log, part) {
			t.Errorf("no %s in the environment", part)
		}
	}
	for _, part := range []string{"SECRET_OF_THE_PARENT", "TF_DATA_DIR", "HOME=/root"} {
		if strings.Contains(log, part) {
			t.Errorf("%s is in the environment", part)
		}
	}
	if left, err := filepath.Glob(workspace.TempPrefix + "*"); err != nil {
		t.Errorf("%v %v", left, err)
	}
}

func TestStateAndPlanEncryption(t *testing.T) {
	b := newBench(t).start()
	configuration, err := json.Marshal(map[string]any{
		"key_provider": map[string]any{"pbkdf2": map[string]any{"k": map[string]any{"passphrase": "a-long-enough-passphrase", "iterations": 200000}}},
		"method":       map[string]any{"aes_gcm": map[string]any{"m": map[string]any{"keys": "key_provider.pbkdf2.k"}}},
		"state":        map[string]any{"method": "method.aes_gcm.m", "enforced": true},
		"plan":         map[string]any{"method": "method.aes_gcm.m", "enforced": true},
	})
	if err != nil {
		t.Fatal(err)
	}
	first := b.stack("encrypted", run.OperationPlan, program(twoThings))
	first.spec.Env = []run.EnvVar{{Name: "TF_ENCRYPTION", Value: string(configuration), Secret: true}}
	first.spec.Describe = true
	planned := b.succeed(first)
	second := first.again(run.OperationApply)
	second.plan, second.spec.Plan = first.savedPlan, &run.PlanRef{ID: "plan-1", Digest: planned.Plan.Digest}
	second.spec.ReadOutputs = true
	applied := b.succeed(second)
	state := string(second.lastState())
	if !strings.Contains(state, "encrypted_data") || strings.Contains(state, "terraform_data") || !strings.Contains(string(applied.Outputs), `"one"`) {
		t.Errorf("outputs %s, state %.200s", applied.Outputs, state)
	}
	if third := b.succeed(second.again(run.OperationPlanAndApply)); third.Plan.Changes {
		t.Errorf("%+v", third.Plan)
	}
}

func TestReadablePlanAndRefreshBeforeApply(t *testing.T) {
	b := newBench(t).start()
	text := "variable \"v\" {}\nresource \"terraform_data\" \"a\" { input = sensitive(var.v) }"
	first := b.stack("described", run.OperationPlan, program(text))
	first.spec.Describe = true
	first.spec.Variables = map[string]run.Variable{"v": {Value: []byte(`"hidden-value"`)}}
	planned := b.succeed(first)
	if planned.Plan.ChangesDigest == "" || !strings.Contains(string(first.planJSON), "terraform_data.a") || strings.Contains(string(first.planJSON), "hidden-value") {
		t.Errorf("%+v\n%s", planned.Plan, first.planJSON)
	}
	for value, class := range map[string]run.Failure{`"hidden-value"`: "", `"other-value"`: run.FailureStalePlan} {
		second := first.again(run.OperationApply)
		second.plan, second.spec.Plan = first.savedPlan, &run.PlanRef{ID: "plan-1", Digest: planned.Plan.Digest}
		second.spec.RefreshOnApply = true
		second.spec.Variables = map[string]run.Variable{"v": {Value: []byte(value)}}
		if result := b.do(second); result.Class != class || result.Applied != (class == "") {
			t.Errorf("%s: %+v", value, result)
		}
	}
}

func TestRunnerThatAServerLetGoIsKeptByTheNext(t *testing.T) {
	b := newBench(t)
	process := b.process()
	long, open := b.applying("long")
	b.server.drainNow()
	eventually(t, "a runner that drains", func() bool {
		return b.server.saw(func(p run.PollRequest) bool { return p.Draining && p.Capacity == 0 })
	})
	b.server.stop()
	b.server.setDrain(false)
	b.server.start()
	b.succeed(b.stack("other", run.OperationPlan, program(twoThings)))
	if long.result != nil {
		t.Error("the long apply has ended")
	}
	if err := process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a runner that leaves for good", func() bool {
		return b.server.saw(func(p run.PollRequest) bool { return !p.Draining && p.Capacity == 0 })
	})
	open()
	b.server.finished(long)
	if err := process.Wait(); err != nil {
		t.Errorf("the runner: %v", err)
	}
}

func TestRunnerNamesWhatItWasStartedAs(t *testing.T) {
	b := newBench(t)
	b.opts.Build = "b1"
	b.start()
	b.succeed(b.stack("named", run.OperationPlan, program(twoThings)))
	if !b.server.saw(func(p run.PollRequest) bool { return p.Build == "b1" }) {
		t.Error("not named in the last poll")
	}
}
