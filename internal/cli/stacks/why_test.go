// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

func TestAnExplanationIsOneScreen(t *testing.T) {
	ago := func(d time.Duration) *time.Time { at := noon.Add(-d); return &at }
	next := noon.Add(7 * time.Minute).Local()
	why := run.Why{
		Namespace: "team", Name: "vpc",
		Decision: run.Decided{Verb: "wait", Reason: "DependencyNotReady", Message: "dependency 'team/net' is not ready",
			Detail: "Dependencies do not meet ready condition, retrying in 15s", NextLook: &next},
		Looked:  &run.Looked{At: *ago(time.Second), Since: *ago(3 * time.Minute)},
		Queue:   &run.QueuePlace{Place: 3, Waits: "its namespace has 2 runs at work, as many as it may"},
		Planned: &run.RunInShort{ID: "run-7", Plan: "no changes", Finished: ago(time.Hour)},
		Changes: []run.InputChange{
			{Part: "source", From: "main@sha1:aaa", To: "main@sha1:bbb", Files: []run.FileChange{{Name: "live/main.tf", Change: "changed"}}, MoreFiles: 2},
			{Part: "variable", Name: "size", From: "3", To: "4", Origin: "ConfigMap team/settings, key size"},
			{Part: "variable", Name: "password", Secret: true},
			{Part: "environment", Name: "REGION", To: "eu"}, {Part: "variable", Name: "zone", From: `"a"`},
		},
		LastRun: &run.RunInShort{ID: "run-8", Operation: run.OperationPlan, Outcome: run.OutcomeFailed, Finished: ago(time.Minute), Trigger: "The configuration changed",
			By: "jane", Passes: 3, Before: "run-7", Changes: []run.InputChange{{Part: "source", From: "a", To: "b", Untouched: true}}},
		Proof: &run.Proof{Dirs: []string{"live", "modules/net"}, World: "timestamp() at live/main.tf:3", Drift: "10m0s"},
		Notes: []string{"Something else."},
	}
	want := `Stack       team/vpc
Now         waiting (DependencyNotReady)
            dependency 'team/net' is not ready
            Dependencies do not meet ready condition, retrying in 15s
            unchanged for 3m, last reconciled 1s ago
Queue       place 3; see ` + "`yuba queue`" + `
            its namespace has 2 runs at work, as many as it may
Next check  ` + next.Format("2006-01-02 15:04:05") + `, in 7m, or when something changes
Planned     run-7: no changes, 60m ago
            inputs changed since then:
              source: main@sha1:aaa -> main@sha1:bbb
                changed live/main.tf
                and 2 more files
              variable size: 3 -> 4, from ConfigMap team/settings, key size
              variable password: changed (secret)
              environment REGION: now eu
              variable zone: gone, was "a"
Last run    run-8 (plan) failed, 60s ago
            why: The configuration changed, requested by jane (3 times in a row)
            inputs changed since run-7:
              source: a -> b (no file that the stack reads)
Reads       live
            modules/net
World       timestamp() at live/main.tf:3
Drift       checked every 10m0s
Note        Something else.
`
	var got bytes.Buffer
	showWhy(&got, &why, noon)
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAStackThatRestsIsExplained(t *testing.T) {
	why := run.Why{Namespace: "team", Name: "vpc", Decision: run.Decided{Verb: "rest", Reason: "UpToDate"},
		Planned: &run.RunInShort{ID: "run-7", Plan: "no changes"}, Proof: &run.Proof{Whole: "the root module is the source's root", Unchanged: true}}
	want := `Stack       team/vpc
Now         nothing to do (UpToDate)
Next check  when something changes
Planned     run-7: no changes
            no input changed since then
Reads       its whole source: the root module is the source's root
Drift       not checked
`
	var got bytes.Buffer
	showWhy(&got, &why, noon)
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
