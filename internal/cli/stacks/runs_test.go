// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

func TestRunRow(t *testing.T) {
	started, finished := noon.Add(-10*time.Minute), noon.Add(-10*time.Minute+1234*time.Millisecond)
	record := run.Record{Spec: run.Spec{ID: "r1", Operation: run.OperationApply, Destroy: true}, Created: started, Trigger: "Approved"}
	cases := map[string]struct {
		change func(*run.Record)
		want   []string
	}{
		"a run that waits": {func(*run.Record) {}, []string{"r1", "apply (destroy)", "waiting", "", "10m", "", "", "Approved"}},
		"a run at work":    {func(r *run.Record) { r.Started = &started }, []string{"r1", "apply (destroy)", "running", "", "10m", "", "", "Approved"}},
		"a run that ended": {func(r *run.Record) {
			r.Started, r.Result = &started, &run.Result{Outcome: run.OutcomeSucceeded, Finished: finished, ToolName: "tofu", ToolVersion: "1.12.6", AppliedCounts: &run.Counts{Destroy: 3}}
		}, []string{"r1", "apply (destroy)", "succeeded", "+0 ~0 -3", "10m", "1.23s", "tofu 1.12.6", "Approved"}},
		"passes kept in one record": {func(r *run.Record) { r.Passes = 7 }, []string{"r1", "apply (destroy)", "waiting", "", "10m", "", "", "Approved (7 times)"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := record
			c.change(&r)
			if diff := cmp.Diff(c.want, runRow(r, noon)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
