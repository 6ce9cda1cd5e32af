// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"fmt"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

func TestTheSlowestStacksAreNamedByTheirLastRuns(t *testing.T) {
	m := newMetrics(t)
	took := func(name string, at time.Duration, seconds int, outcome run.Outcome) {
		m.ObserveRun(ended(func(r *run.Record) {
			r.Spec.Stack.Name, r.Result.Outcome = name, outcome
			started := began.Add(at)
			r.Started, r.Result.Finished = &started, started.Add(time.Duration(seconds)*time.Second)
		}))
	}
	took("fast-now", 0, 500, run.OutcomeSucceeded)
	took("fast-now", time.Hour, 1, run.OutcomeSucceeded)
	took("slow", 0, 60, run.OutcomeFailed)
	for i := range 20 {
		took(fmt.Sprintf("stack-%02d", i), 0, 2+i, run.OutcomeSucceeded)
	}
	m.ObserveDecision("rest", "UpToDate", true)
	got := m.Recent()
	if got.Total != 23 || got.Failed != 1 || got.LastMinute != 23 || got.FailedLastMinute != 1 || got.Skipped != 1 {
		t.Errorf("%+v", got)
	}
	if len(got.Slowest) != slowest || got.Slowest[0].Stack.Name != "slow" || got.Slowest[0].Took != time.Minute || got.Slowest[1].Stack.Name != "stack-19" {
		t.Errorf("slowest: %+v", got.Slowest)
	}
}

func TestOnlyTheLastRunsAreRemembered(t *testing.T) {
	m := newMetrics(t)
	for i := range 3 * maxRecent {
		m.ObserveRun(ended(func(r *run.Record) { r.Spec.Stack.Name = fmt.Sprintf("stack-%d", i) }))
	}
	if n := len(m.recent.runs); n != maxRecent {
		t.Errorf("%d runs are remembered", n)
	}
	if got := m.Recent(); got.Total != 3*maxRecent || len(got.Slowest) != slowest {
		t.Errorf("%d runs, %d slowest", got.Total, len(got.Slowest))
	}
}
