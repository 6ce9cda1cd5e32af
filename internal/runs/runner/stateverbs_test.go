// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// eachBackend runs a test with a state that Yuba keeps, and with one in a custom backend, which locks. last is
// the run to go on from, state the state after it.
func eachBackend(t *testing.T, test func(t *testing.T, b *bench, last *fakeRun, state func(*fakeRun) string)) {
	t.Helper()
	t.Run("managed", func(t *testing.T) {
		b := newBench(t).start()
		first := b.appliedStack("verbs")
		test(t, b, first, func(r *fakeRun) string { return string(r.lastState()) })
	})
	t.Run("own", func(t *testing.T) {
		b, s := newBench(t).start(), newStateServer(t)
		first := s.on(b.stack("verbs", run.OperationPlanAndApply, program(twoNamed)))
		b.succeed(first)
		test(t, b, first, func(*fakeRun) string {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.lock != nil {
				t.Error("it is still locked")
			}
			return string(s.state)
		})
	})
}

func TestVerbsThatMark(t *testing.T) {
	eachBackend(t, func(t *testing.T, b *bench, last *fakeRun, state func(*fakeRun) string) {
		for _, step := range []struct {
			verb    run.StateVerb
			args    []string
			would   string
			mark    string
			present bool
		}{
			{run.StateTaint, []string{"terraform_data.a"}, "Would mark terraform_data.a as tainted", `"tainted"`, true},
			{run.StateUntaint, []string{"terraform_data.a"}, "Would no longer mark", `"tainted"`, false},
			{run.StateReplaceProvider, []string{"terraform.io/builtin/terraform", "hashicorp/null"}, "ould replace the provider", "hashicorp/null", true},
		} {
			preview := last.change(run.StateChange{Verb: step.verb, Args: step.args, Preview: true})
			if result := b.succeed(preview); !strings.Contains(result.Text, step.would) || len(preview.states) > 0 || strings.Contains(state(last), step.mark) == step.present {
				t.Errorf("the preview of %s: %s", step.verb, result.Text)
			}
			last = last.change(run.StateChange{Verb: step.verb, Args: step.args})
			if b.succeed(last); strings.Contains(state(last), step.mark) != step.present {
				t.Errorf("%s: %s", step.verb, state(last))
			}
		}
	})
}

func TestVerbsThatRead(t *testing.T) {
	eachBackend(t, func(t *testing.T, b *bench, first *fakeRun, state func(*fakeRun) string) {
		before := state(first)
		console := first.change(run.StateChange{Verb: run.StateConsole, Preview: true, Input: []byte("terraform_data.a.output\n")})
		if result := b.succeed(console); result.Text != `"one"` || len(console.states)+len(console.asked) != 0 || strings.Contains(string(console.log), `"one"`) {
			t.Errorf("the console said %q, the log %s", result.Text, console.log)
		}
		wrong := first.change(run.StateChange{Verb: run.StateConsole, Preview: true, Input: []byte("terraform_data.none\n")})
		if result := b.do(wrong); result.Outcome != run.OutcomeFailed || !strings.Contains(result.Text, "undeclared resource") {
			t.Errorf("%+v", result)
		}
		quotes := first.change(run.StateChange{Verb: run.StateConsole, Preview: true, Input: []byte("1 + 1\ntonumber(\"${terraform_data.a.output}-quoted\")\n")})
		result := b.do(quotes)
		if result.Outcome != run.OutcomeFailed || !strings.HasPrefix(result.Text, "2\n") || !strings.Contains(result.Text, "one-quoted") {
			t.Errorf("%+v", result)
		}
		if strings.Contains(string(quotes.log), "one-quoted") || strings.Contains(result.Error, "one-quoted") || result.Diagnosis != nil || len(result.Warnings) > 0 {
			t.Errorf("everybody can read the value: %+v\n%s", result, quotes.log)
		}
		graph := first.change(run.StateChange{Verb: run.StateGraph, Preview: true})
		if result := b.succeed(graph); !strings.HasPrefix(result.Text, "digraph {") {
			t.Errorf("the graph is %q", result.Text)
		}
		refresh := first.change(run.StateChange{Verb: run.StateRefresh, Args: []string{"terraform_data.a"}, Preview: true})
		if result := b.succeed(refresh); !strings.Contains(result.Text, "No changes.") || result.ApplyStarted {
			t.Errorf("%+v", result)
		}
		if state(first) != before {
			t.Errorf("the state was\n%s\nand is\n%s", before, state(first))
		}
		done := first.change(run.StateChange{Verb: run.StateRefresh})
		if result := b.succeed(done); !result.ApplyStarted || !strings.Contains(result.Text, "Apply complete!") {
			t.Errorf("%+v", result)
		}
	})
}
