// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

func TestSuperfluous(t *testing.T) {
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	const day = 24 * time.Hour
	all := []string{run.BlobLog, run.BlobPlan, run.BlobPlanJSON, run.BlobPlanText, run.BlobRecord, run.BlobPlanShow, run.BlobPlanOutputs}
	left := func(id string, age time.Duration, parts ...string) leftRun {
		r := leftRun{id: id, at: now.Add(-age)}
		for _, part := range parts {
			r.parts = append(r.parts, blob.Info{Key: "runs/n/s/u/" + id + "/" + part, Size: 1})
		}
		return r
	}
	five := []leftRun{left("1", 5*day, all...), left("2", 4*day, all...), left("3", 3*day, all...), left("4", 2*day, all...), left("5", time.Minute, all...)}
	plans := func(ids ...string) []string {
		var keys []string
		for _, id := range ids {
			keys = append(keys, id+"/"+run.BlobPlan, id+"/"+run.BlobPlanShow, id+"/"+run.BlobPlanOutputs)
		}
		return keys
	}
	whole := func(ids ...string) []string {
		var keys []string
		for _, id := range ids {
			for _, part := range runParts {
				keys = append(keys, id+"/"+part)
			}
		}
		return keys
	}
	type scene struct {
		runs     []leftRun
		named    []string
		repeated []string
		keep     Keep
		want     []string
		waits    []string
	}
	cases := map[string]scene{
		"nothing is ever removed but plans that cannot be applied any more": {runs: five, want: plans("4", "3", "2", "1")},
		"the newest document of a plan stays, for policies": {runs: []leftRun{left("1", 5*day, all...), left("2", 4*day, all...), left("3", 3*day, run.BlobRecord)},
			want: append([]string{"2/" + run.BlobPlan, "2/" + run.BlobPlanOutputs}, plans("1")...)},
		"but not for its own sake": {runs: []leftRun{left("1", 5*day, all...), left("2", 4*day, all...)}, repeated: []string{"2"},
			want: append(whole("2"), "1/"+run.BlobPlan, "1/"+run.BlobPlanOutputs)},
		"the pending plan's run keeps all it left": {runs: five, named: []string{"4"}, want: plans("3", "2", "1")},
		"beyond the number, the oldest go":         {runs: five, keep: Keep{Runs: 3}, want: slices.Concat(plans("4", "3"), whole("2", "1"))},
		"beyond the age, the oldest go":            {runs: five, keep: Keep{Age: 3*day + time.Hour}, want: slices.Concat(plans("4", "3"), whole("2", "1"))},
		"a named run stays however old it is":      {runs: five, named: []string{"1"}, keep: Keep{Runs: 1, Age: day}, want: whole("4", "3", "2")},
		"what has just changed stays":              {runs: []leftRun{left("1", 50*time.Minute, all...), left("2", time.Minute, all...)}, keep: Keep{Runs: 1, Age: time.Second}},
		"a look that was repeated goes before its time": {runs: []leftRun{left("1", 3*time.Hour, all...), left("2", 30*time.Minute, all...), left("3", 20*time.Minute, all...)},
			repeated: []string{"2"}, want: slices.Concat(whole("2"), plans("1"))},
		"looks that were repeated do not count":    {runs: five, repeated: []string{"3", "4"}, keep: Keep{Runs: 2}, want: slices.Concat(whole("4", "3"), plans("2"), whole("1"))},
		"a look that has just been repeated waits": {runs: []leftRun{left("1", 5*time.Minute, all...)}, repeated: []string{"1"}, waits: []string{"1"}},
		"so does one that the status still names":  {runs: []leftRun{left("1", 50*time.Minute, all...)}, repeated: []string{"1"}, named: []string{"1"}, waits: []string{"1"}},
		"a log without a record goes with its time": {runs: []leftRun{left("1", 100*day, run.BlobLog), left("2", day, run.BlobRecord)}, keep: Keep{Age: 90 * day},
			want: []string{"1/" + run.BlobLog}},
	}
	console := func(id string, age time.Duration) leftRun {
		r := left(id, age, run.BlobRecord, run.BlobLog)
		r.reads = true
		return r
	}
	var session []leftRun
	for i := range reads + 5 {
		session = append(session, console(fmt.Sprintf("9%02d", i), 2*time.Hour))
	}
	cases["runs that only read take no places of others, and the newest of them stay"] = scene{runs: append(slices.Clone(five), session...), keep: Keep{Runs: 4}, want: append(func() (keys []string) {
		for _, id := range []string{"904", "903", "902", "901", "900"} {
			keys = append(keys, id+"/"+run.BlobRecord, id+"/"+run.BlobLog)
		}
		return keys
	}(), slices.Concat(plans("4", "3", "2"), whole("1"))...)}
	cases["a run that only read goes after a day, and not at once"] = scene{runs: []leftRun{console("1", 25*time.Hour), console("2", 23*time.Hour), console("3", time.Minute)}, keep: Keep{Runs: 1},
		want: []string{"1/" + run.BlobRecord, "1/" + run.BlobLog}}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			done, goes := superfluous(c.runs, c.named, PruneRequest{Repeated: c.repeated, Keep: c.keep, Now: now})
			var got []string
			for _, info := range goes {
				got = append(got, strings.TrimPrefix(info.Key, "runs/n/s/u/"))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("goes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.waits, done.Left); diff != "" {
				t.Errorf("waits (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("what is kept is never more than the number, and the newest", func(t *testing.T) {
		for n := range 30 {
			var runs []leftRun
			for i := range n {
				runs = append(runs, left(fmt.Sprintf("%02d", i), time.Duration(n-i)*day, run.BlobRecord))
			}
			done, _ := superfluous(runs, nil, PruneRequest{Keep: Keep{Runs: 7}, Now: now})
			if done.Runs != max(0, n-7) {
				t.Errorf("of %d runs %d go", n, done.Runs)
			}
		}
	})
}
