// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

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

func TestOnlyWhoTookALockMayHaveLeftIt(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Locks)
		want   []run.Step
	}{
		"nothing is known":                                {func(*Locks) {}, []run.Step{run.StepPlan, run.StepApply}},
		"the plan was orderly":                            {func(l *Locks) { l.program.Orderly[run.StepPlan] = true }, []run.Step{run.StepApply}},
		"the plan took none":                              {func(l *Locks) { l.run.Spec.NoPlanLock = true }, []run.Step{run.StepApply}},
		"the plan was over":                               {func(l *Locks) { l.run.Journal.ApplyStarted = true }, []run.Step{run.StepApply}},
		"whether it took one is the stack's own business": {func(l *Locks) { l.run.Spec.Env = []run.EnvVar{{Name: "TF_CLI_ARGS_plan"}} }, nil},
		"all ended in good order":                         {func(l *Locks) { l.program.Orderly = map[run.Step]bool{run.StepPlan: true, run.StepApply: true} }, nil},
	} {
		r := execution.New(&execution.Equipment{}, t.TempDir(), "one", "")
		at := execution.NewSite(r)
		l := NewLocks(r, at, New(r, at, nil))
		c.change(l)
		if diff := cmp.Diff(c.want, l.mayHold()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
