// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"testing"
	"time"
)

func TestWaitingForOthersIsNoCost(t *testing.T) {
	begin := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	step := func(name Step, from, wall time.Duration) StepReport {
		return StepReport{Step: name, Started: begin.Add(from), Wall: Duration(wall)}
	}
	prepare, plan := step(StepPrepare, 0, time.Second), step(StepPlan, 9*time.Second, time.Second)
	for name, c := range map[string]struct {
		steps []StepReport
		want  time.Duration
	}{
		"prepared, then it waited":    {[]StepReport{prepare, step(StepInit, 8*time.Second, time.Second), plan}, 7 * time.Second},
		"it began at once":            {[]StepReport{prepare, step(StepInit, time.Second, time.Second), plan}, 0},
		"it did not get so far":       {[]StepReport{prepare}, 0},
		"what it did is not known":    {nil, 0},
		"it was not prepared":         {[]StepReport{step(StepInit, 0, time.Second), plan}, 0},
		"its clock was set meanwhile": {[]StepReport{prepare, step(StepInit, -time.Hour, time.Second)}, 0},
	} {
		if got := (&Result{Steps: c.steps}).Unplaced(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
