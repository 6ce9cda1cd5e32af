// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

const twoThings = `
resource "terraform_data" "a" { input = "one" }
resource "terraform_data" "b" { input = terraform_data.a.id }
output "o" { value = terraform_data.a.output }
`

func program(text string) map[string]string { return map[string]string{"main.tf": text} }

// processes returns the steps that started a tofu process.
func processes(result *run.Result) []run.Step {
	var out []run.Step
	for _, s := range result.Steps {
		if s.CPU > 0 {
			out = append(out, s.Step)
		}
	}
	return out
}

func TestPlanAndApply(t *testing.T) {
	b := newBench(t).start()
	r := b.stack("two", run.OperationPlanAndApply, program(twoThings))
	result := b.succeed(r)
	if diff := cmp.Diff(&run.Counts{Add: 2}, result.AppliedCounts); diff != "" || !result.Applied || !result.ApplyStarted {
		t.Errorf("applied %v: %s", result.Applied, diff)
	}
	if result.Plan == nil || !result.Plan.Changes || result.Plan.Counts.Add != 2 || result.Plan.Digest == "" {
		t.Errorf("plan %+v", result.Plan)
	}
	if len(r.states) != 1 || !strings.Contains(string(r.states[0]), `"terraform_data"`) || result.StateDigest != spool.Digest(r.states[0]) {
		t.Errorf("%d states", len(r.states))
	}
	if len(r.asked) != 1 || r.asked[0].Plan == nil || r.asked[0].Plan.Digest != result.Plan.Digest {
		t.Errorf("asked %+v", r.asked)
	}
	if r.savedPlan != nil || result.ToolVersion == "" {
		t.Errorf("plan of %d bytes shipped, tool %s", len(r.savedPlan), result.ToolVersion)
	}
	if !strings.Contains(string(r.log), "Apply complete!") {
		t.Errorf("log:\n%s", r.log)
	}
	b.drain()
	left, err := filepath.Glob(filepath.Join(b.opts.Dir, "runs", "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("the spool still has %v (%v)", left, err)
	}
	for _, name := range workspace.SecretFiles {
		if _, err := os.Lstat(filepath.Join(b.opts.WorkRoot, "team", "two", "src", name)); err == nil {
			t.Errorf("%s is still in the working directory", name)
		}
	}
}

func TestEveryLineOfTheLogIsJSON(t *testing.T) {
	b := newBench(t).start()
	r := b.stack("log", run.OperationPlanAndApply, program(`
resource "terraform_data" "a" {
  provisioner "local-exec" { command = "echo to stdout; echo to stderr >&2; printf 'no newline'" }
}`))
	b.succeed(r)
	for line := range strings.Lines(string(r.log)) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil || m["@message"] == nil || m["@timestamp"] == nil {
			t.Errorf("%v: %s", err, line)
		}
	}
	for _, part := range []string{"to stdout", "to stderr", "no newline"} {
		if !strings.Contains(string(r.log), part) {
			t.Errorf("no %q in\n%s", part, r.log)
		}
	}
}

func TestSavedPlanIsAppliedAsItIs(t *testing.T) {
	b := newBench(t).start()
	first := b.stack("saved", run.OperationPlan, program(twoThings))
	planned := b.succeed(first)
	if planned.ApplyStarted || len(first.states) > 0 || spool.Digest(first.savedPlan) != planned.Plan.Digest {
		t.Fatalf("plan: %+v", planned)
	}
	second := first.again(run.OperationApply)
	second.plan, second.spec.Plan = first.savedPlan, &run.PlanRef{ID: "plan-1", RunID: first.spec.ID, Digest: planned.Plan.Digest}
	applied := b.succeed(second)
	if diff := cmp.Diff([]run.Step{run.StepApply}, processes(applied)); diff != "" || len(second.states) != 1 {
		t.Errorf("%d states, processes: %s", len(second.states), diff)
	}
}

func TestPlanWithOtherBytesIsNotApplied(t *testing.T) {
	b := newBench(t).start()
	first := b.stack("other", run.OperationPlan, program(twoThings))
	planned := b.succeed(first)
	second := first.again(run.OperationApply)
	second.plan = append([]byte("x"), first.savedPlan...)
	second.spec.Plan = &run.PlanRef{ID: "plan-1", Digest: planned.Plan.Digest}
	result := b.do(second)
	if result.Outcome != run.OutcomeFailed || result.Class != run.FailureStalePlan || result.ApplyStarted {
		t.Errorf("%+v", result)
	}
}

func TestStalePlanIsRefused(t *testing.T) {
	b := newBench(t).start()
	first := b.stack("stale", run.OperationPlan, program(twoThings))
	planned := b.succeed(first)
	between := first.again(run.OperationPlanAndApply)
	b.succeed(between)
	late := between.again(run.OperationApply)
	late.plan, late.spec.Plan = first.savedPlan, &run.PlanRef{ID: "plan-1", Digest: planned.Plan.Digest}
	result := b.do(late)
	if result.Outcome != run.OutcomeFailed || result.Class != run.FailureStalePlan || !strings.Contains(result.Error, "stale") {
		t.Errorf("%+v", result)
	}
}

func TestWarmPassWithoutChangesStartsOneProcess(t *testing.T) {
	b := newBench(t).start()
	first := b.stack("warm", run.OperationPlanAndApply, program(twoThings))
	if diff := cmp.Diff([]run.Step{run.StepInit, run.StepPlan, run.StepApply}, processes(b.succeed(first))); diff != "" {
		t.Errorf("first run: %s", diff)
	}
	second := first.again(run.OperationPlanAndApply)
	result := b.succeed(second)
	if diff := cmp.Diff([]run.Step{run.StepPlan}, processes(result)); diff != "" {
		t.Errorf("second run: %s", diff)
	}
	if result.Plan.Changes || result.ApplyStarted || len(second.asked)+len(second.states) > 0 {
		t.Errorf("%+v", result)
	}
	for _, r := range second.requests {
		if r == "GET artifact" {
			t.Error("the artifact was fetched again")
		}
	}
}

func TestChangedWorkingDirectoryIsRestored(t *testing.T) {
	b := newBench(t).start()
	files := program(twoThings)
	files["data.txt"] = "original"
	first := b.stack("tampered", run.OperationPlan, files)
	b.succeed(first)
	src := filepath.Join(b.opts.WorkRoot, "team", "tampered", "src")
	for name, text := range map[string]string{"data.txt": "changed!", "extra.tf": "this is { not HCL"} {
		if err := os.WriteFile(filepath.Join(src, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b.succeed(first.again(run.OperationPlan))
	if text, err := os.ReadFile(filepath.Join(src, "data.txt")); string(text) != "original" {
		t.Errorf("data.txt has %q (%v)", text, err)
	}
}

func TestFailingPlanSaysWhere(t *testing.T) {
	b := newBench(t).start()
	r := b.stack("bad", run.OperationPlan, program("\n\nresource \"terraform_data\" \"c\" {\n  input = nope.foo\n}\n"))
	result := b.do(r)
	if result.Outcome != run.OutcomeFailed || result.FailedStep != run.StepPlan || result.Class != run.FailureConfiguration {
		t.Errorf("%+v", result)
	}
	for _, part := range []string{"main.tf line 4", "nope.foo", "undeclared resource"} {
		if !strings.Contains(result.Error, part) {
			t.Errorf("no %q in %s", part, result.Error)
		}
	}
}

func TestInvalidHCLFailsInInit(t *testing.T) {
	b := newBench(t).start()
	result := b.do(b.stack("invalid", run.OperationPlan, program("resource {")))
	if result.FailedStep != run.StepInit || result.Class != run.FailureConfiguration || !strings.Contains(result.Error, "main.tf line 1") {
		t.Errorf("%+v", result)
	}
}

func TestTargetsLimitThePlan(t *testing.T) {
	b := newBench(t).start()
	r := b.stack("targets", run.OperationPlanAndApply, program(twoThings))
	r.spec.Targets, r.spec.Parallelism = []string{"terraform_data.a"}, 1
	result := b.succeed(r)
	if result.AppliedCounts.Add != 1 || len(result.Warnings) == 0 {
		t.Errorf("%+v", result)
	}
}

func TestDestroy(t *testing.T) {
	b := newBench(t).start()
	first := b.stack("gone", run.OperationPlanAndApply, program(twoThings))
	b.succeed(first)
	second := first.again(run.OperationPlanAndApply)
	second.spec.Destroy = true
	result := b.succeed(second)
	if result.AppliedCounts.Destroy != 2 || strings.Contains(string(second.lastState()), "terraform_data") {
		t.Errorf("%+v\n%s", result.AppliedCounts, second.lastState())
	}
}

func TestWorkspaceHasItsOwnState(t *testing.T) {
	b := newBench(t).start()
	r := b.stack("spaces", run.OperationPlanAndApply, program(`
resource "terraform_data" "a" { input = terraform.workspace }
output "w" { value = terraform_data.a.output }`))
	r.spec.Workspace = "prod"
	b.succeed(r)
	if !strings.Contains(string(r.lastState()), `"prod"`) {
		t.Errorf("state:\n%s", r.lastState())
	}
	second := r.again(run.OperationPlanAndApply)
	if result := b.succeed(second); result.Plan.Changes {
		t.Errorf("the second run found changes: %s", second.log)
	}
}

func TestRootModuleInASubdirectoryWithALocalModule(t *testing.T) {
	b := newBench(t).start()
	r := b.stack("nested", run.OperationPlanAndApply, map[string]string{
		"stacks/one/main.tf":   "module \"m\" { source = \"../../modules/m\" }\noutput \"o\" { value = module.m.o }",
		"modules/m/main.tf":    "resource \"terraform_data\" \"x\" { input = \"deep\" }\noutput \"o\" { value = terraform_data.x.output }",
		"stacks/two/broken.tf": "not HCL",
	})
	r.spec.Path = "./stacks/one"
	b.succeed(r)
	second := r.again(run.OperationPlan)
	if diff := cmp.Diff([]run.Step{run.StepPlan}, processes(b.succeed(second))); diff != "" {
		t.Error(diff)
	}
}

func TestMissingPathIsASourceFailure(t *testing.T) {
	b := newBench(t).start()
	for _, path := range []string{"nowhere", "../../other", "main.tf"} {
		r := b.stack("path", run.OperationPlan, program(twoThings))
		r.spec.Path = path
		if result := b.do(r); result.Class != run.FailureSource || !strings.Contains(result.Error, path) {
			t.Errorf("%s: %+v", path, result)
		}
	}
}

func TestServerSaysNo(t *testing.T) {
	b := newBench(t).start()
	r := b.stack("no", run.OperationPlanAndApply, program(twoThings))
	r.answer = run.ContinueResponse{Reason: "the state is locked by ci", Outcome: run.OutcomeFailed, Class: run.FailureLocked}
	result := b.do(r)
	if result.Outcome != run.OutcomeFailed || result.Class != run.FailureLocked || result.ApplyStarted || !strings.Contains(result.Error, "locked by ci") {
		t.Errorf("%+v", result)
	}
}

func TestOutputsAreReadOnRequest(t *testing.T) {
	b := newBench(t).start()
	r := b.stack("outputs", run.OperationPlanAndApply, program(twoThings+"output \"s\" {\n  value = \"hidden-value\"\n  sensitive = true\n}"))
	r.spec.ReadOutputs = true
	result := b.succeed(r)
	if !strings.Contains(string(result.Outputs), "hidden-value") || strings.Contains(string(r.log), "hidden-value") {
		t.Errorf("outputs %s\nlog:\n%s", result.Outputs, r.log)
	}
}

func TestOwnBackendIsUsedDirectly(t *testing.T) {
	b := newBench(t).start()
	r := b.stack("own", run.OperationPlanAndApply, program(twoThings+"terraform {\n  backend \"local\" { path = \"mine.tfstate\" }\n}"))
	r.spec.Backend = run.Backend{Kind: run.BackendOwn}
	b.succeed(r)
	for _, name := range []string{"one", "two", "three"} { // the third's init finds two others, and itself missing
		next := r.again(run.OperationPlanAndApply)
		next.spec.Workspace = name
		b.succeed(next)
		r.states = append(r.states, next.states...)
	}
	if len(r.states) != 0 {
		t.Errorf("%d states shipped", len(r.states))
	}
}

func TestBackendMayChange(t *testing.T) {
	b := newBench(t).start()
	override := func(path string) run.Backend {
		return run.Backend{Kind: run.BackendOwn, Override: "terraform {\n  backend \"local\" { path = \"" + path + "\" }\n}\n"}
	}
	r := b.stack("moved", run.OperationPlanAndApply, program(twoThings))
	managed := r.spec.Backend
	for _, backend := range []run.Backend{managed, override("one.tfstate"), override("two.tfstate"), managed} {
		next := b.stack("moved", run.OperationPlan, program(twoThings))
		next.spec.Backend = backend
		if result := b.succeed(next); result.Plan.Counts.Add != 2 {
			t.Errorf("%+v: %+v", backend, result.Plan)
		}
	}
}

func TestStateOfAnOwnLocalBackendStaysAcrossSources(t *testing.T) {
	b := newBench(t).start()
	first := b.stack("ownlocal", run.OperationPlanAndApply, program(twoThings))
	first.spec.Backend = run.Backend{Kind: run.BackendOwn}
	b.succeed(first)
	changed := b.stack("ownlocal", run.OperationPlan, program("# a comment\n"+twoThings))
	changed.spec.Backend = first.spec.Backend
	if result := b.succeed(changed); result.Plan.Changes {
		t.Errorf("the state is gone:\n%s", changed.log)
	}
}
