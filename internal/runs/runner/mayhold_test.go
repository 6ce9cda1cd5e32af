// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

func TestOnlyWhoTookALockMayHaveLeftIt(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*lockKeeper)
		want   []run.Step
	}{
		"nothing is known":                                {func(*lockKeeper) {}, []run.Step{run.StepPlan, run.StepApply}},
		"the plan was orderly":                            {func(l *lockKeeper) { l.program.orderly[run.StepPlan] = true }, []run.Step{run.StepApply}},
		"the plan took none":                              {func(l *lockKeeper) { l.task.spec.NoPlanLock = true }, []run.Step{run.StepApply}},
		"the plan was over":                               {func(l *lockKeeper) { l.task.Journal.ApplyStarted = true }, []run.Step{run.StepApply}},
		"whether it took one is the stack's own business": {func(l *lockKeeper) { l.task.spec.Env = []run.EnvVar{{Name: "TF_CLI_ARGS_plan"}} }, nil},
		"all ended in good order":                         {func(l *lockKeeper) { l.program.orderly = map[run.Step]bool{run.StepPlan: true, run.StepApply: true} }, nil},
	} {
		r := newTask(&equipment{}, t.TempDir(), "one", "")
		at := newSite(r)
		l := newLockKeeper(r, at, newSupervisor(r, at, nil))
		c.change(l)
		if diff := cmp.Diff(c.want, l.mayHold()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
