// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/statekeeper"
)

const twoNamed = `
resource "terraform_data" "a" { input = "one" }
resource "terraform_data" "b" { input = "two" }
`

// applied makes a stack with two resources and returns the run that made them.
func (b *bench) appliedStack(name string) *fakeRun {
	b.t.Helper()
	r := b.stack(name, run.OperationPlanAndApply, program(twoNamed))
	b.succeed(r)
	return r
}

// change makes a run that changes the stack's state.
func (r *fakeRun) change(c run.StateChange) *fakeRun {
	next := r.again(run.OperationState)
	next.spec.StateChange = &c
	return next
}

func inState(t *testing.T, data []byte) []string {
	t.Helper()
	known, ok := statekeeper.Addresses(data)
	if !ok {
		t.Fatalf("not a readable state: %s", data)
	}
	var list []string
	for address := range known {
		list = append(list, strings.TrimPrefix(address, "terraform_data."))
	}
	slices.Sort(list)
	return list
}

func TestStateIsChangedAsTheToolDoesIt(t *testing.T) {
	b := newBench(t).start()
	for sentence, test := range map[string]struct {
		change run.StateChange
		want   string // in the state afterwards
		text   string
	}{
		"a resource is renamed":   {run.StateChange{Verb: run.StateMove, Args: []string{"terraform_data.a", "terraform_data.c"}}, "b c", `Move "terraform_data.a" to "terraform_data.c"`},
		"a resource is forgotten": {run.StateChange{Verb: run.StateRemove, Args: []string{"terraform_data.a"}}, "b", "Removed terraform_data.a"},
		"two are forgotten":       {run.StateChange{Verb: run.StateRemove, Args: []string{"terraform_data.a", "terraform_data.b"}}, "", "removed 2 resource"},
	} {
		t.Run(sentence, func(t *testing.T) {
			first := b.appliedStack(strings.ReplaceAll(strings.ToLower(t.Name()[len("TestStateIsChangedAsTheToolDoesIt/"):]), "_", "-"))
			preview := first.change(test.change)
			preview.spec.StateChange.Preview = true
			if result := b.succeed(preview); len(preview.states)+len(preview.asked) != 0 || !strings.Contains(result.Text, "ould") || result.ApplyStarted {
				t.Errorf("the preview shipped %d states and asked %d times: %+v", len(preview.states), len(preview.asked), result)
			}
			r := first.change(test.change)
			result := b.succeed(r)
			if len(r.states) != 1 || strings.Join(inState(t, r.lastState()), " ") != test.want {
				t.Errorf("shipped %d states, the last with %v, want %s", len(r.states), inState(t, r.lastState()), test.want)
			}
			if !strings.Contains(result.Text, test.text) || !result.ApplyStarted || !strings.Contains(string(r.log), test.text[:4]) {
				t.Errorf("said %q, the log %s", result.Text, r.log)
			}
			if len(r.asked) != 1 || r.asked[0].Step != run.StepApply {
				t.Errorf("asked %+v", r.asked)
			}
			if left, _ := filepath.Glob(filepath.Join(b.opts.WorkRoot, "team", r.spec.Stack.Name, "src", "*.backup")); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestAnImportIsTriedBeforeItIsDone(t *testing.T) {
	b := newBench(t).start()
	first := b.stack("import", run.OperationPlanAndApply, program(`
variable "which" {}
resource "terraform_data" "a" { input = var.which }
`))
	first.spec.Variables = map[string]run.Variable{"which": {Value: []byte(`"one"`)}}
	forgotten := first.change(run.StateChange{Verb: run.StateImport, Args: []string{"terraform_data.a", "id-7"}})
	forgotten.spec.StateChange.Preview = true
	if result := b.succeed(forgotten); result.Text != `Would import "id-7" as terraform_data.a` || len(forgotten.states) != 0 {
		t.Errorf("%+v", result)
	}
	r := first.change(run.StateChange{Verb: run.StateImport, Args: []string{"terraform_data.a", "id-7"}})
	b.succeed(r)
	if len(r.states) == 0 || !strings.Contains(string(r.lastState()), `"id-7"`) {
		t.Errorf("shipped %s", r.states)
	}
}

func TestAStateChangeThatFailsChangesNothing(t *testing.T) {
	b := newBench(t).start()
	first := b.appliedStack("wrong")
	for sentence, test := range map[string]struct {
		change run.StateChange
		answer run.ContinueResponse
		text   string
	}{
		"there is no such resource": {run.StateChange{Verb: run.StateMove, Args: []string{"terraform_data.x", "terraform_data.y"}}, run.ContinueResponse{Go: true}, "terraform_data.x"},
		"it is no address":          {run.StateChange{Verb: run.StateRemove, Args: []string{"???"}}, run.ContinueResponse{Go: true}, "tofu state rm ended with exit code"},
		"it would be a flag":        {run.StateChange{Verb: run.StateRemove, Args: []string{"-state=x"}}, run.ContinueResponse{Go: true}, "neither an address nor an id"},
		"the server says no": {run.StateChange{Verb: run.StateRemove, Args: []string{"terraform_data.a"}},
			run.ContinueResponse{Outcome: run.OutcomeFailed, Class: run.FailureLocked, Reason: "somebody has the lock"}, "somebody has the lock"},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := first.change(test.change)
			r.answer = test.answer
			result := b.do(r)
			if result.Outcome != run.OutcomeFailed || !strings.Contains(result.Error, test.text) || len(r.states) != 0 {
				t.Errorf("%+v, %d states", result, len(r.states))
			}
		})
	}
}

func TestAStateIsPushedToABackendOfTheStacksOwn(t *testing.T) {
	b := newBench(t).start()
	first := b.appliedStack("managed")
	r := b.stack("own", run.OperationState, program(twoNamed))
	r.spec.Backend = run.Backend{Kind: run.BackendOwn, Override: "terraform {\n  backend \"local\" {\n    path = \"kept/own.tfstate\"\n  }\n}\n"}
	r.spec.StateChange = &run.StateChange{Verb: run.StatePush, State: first.lastState()}
	b.succeed(r)
	data, err := os.ReadFile(filepath.Join(b.opts.WorkRoot, "team", "own", "src", "kept", "own.tfstate"))
	if err != nil || strings.Join(inState(t, data), " ") != "a b" || len(r.states) != 0 {
		t.Errorf("the backend has %s, %v; %d states were shipped", data, err, len(r.states))
	}
}

// The tool is a script that waits at a gate before it becomes the tool, for imports only.
func TestRunnerKilledDuringAnImport(t *testing.T) {
	b := newBench(t)
	script := filepath.Join(t.TempDir(), "tofu")
	text := "#!/bin/sh\nif [ \"$1\" = import ]; then mkfifo gate && cat gate; fi\nexec " + b.opts.Tofu + " \"$@\"\n"
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	b.opts.Tofu, b.opts.ProviderMirror = script, filepath.Dir(b.opts.Tofu) // files in the mirror are executable
	process := b.process()
	r := b.stack("killed", run.OperationState, program(`resource "terraform_data" "a" { input = "one" }`))
	r.spec.StateChange = &run.StateChange{Verb: run.StateImport, Args: []string{"terraform_data.a", "id-7"}}
	b.server.submit(r)
	open := b.atGate("killed", "gate")
	if err := process.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = process.Wait() // killed, of course
	open()
	b.process()
	result := b.server.finished(r)
	if result.Outcome != run.OutcomeInterrupted || !strings.Contains(result.Error, "its end is not known") {
		t.Errorf("%+v", result)
	}
	if len(r.states) == 0 || !strings.Contains(string(r.lastState()), "id-7") {
		t.Errorf("%d states were shipped, the last %s", len(r.states), r.lastState())
	}
}
