// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

func TestWaitingForOthersIsNoCost(t *testing.T) {
	begin := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	step := func(name run.Step, from, wall time.Duration) run.StepReport {
		return run.StepReport{Step: name, Started: begin.Add(from), Wall: run.Duration(wall)}
	}
	prepare, plan := step(run.StepPrepare, 0, time.Second), step(run.StepPlan, 9*time.Second, time.Second)
	for name, c := range map[string]struct {
		steps []run.StepReport
		want  time.Duration
	}{
		"prepared, then it waited":    {[]run.StepReport{prepare, step(run.StepInit, 8*time.Second, time.Second), plan}, 7 * time.Second},
		"it began at once":            {[]run.StepReport{prepare, step(run.StepInit, time.Second, time.Second), plan}, 0},
		"it did not get so far":       {[]run.StepReport{prepare}, 0},
		"what it did is not known":    {nil, 0},
		"it was not prepared":         {[]run.StepReport{step(run.StepInit, 0, time.Second), plan}, 0},
		"its clock was set meanwhile": {[]run.StepReport{prepare, step(run.StepInit, -time.Hour, time.Second)}, 0},
	} {
		if got := (&run.Result{Steps: c.steps}).Unplaced(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
