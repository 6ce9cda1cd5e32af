// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"math/rand/v2"
	"testing"
	"time"
)

var now = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// settled are facts of a release that is what it should be.
func settled(change func(*Facts)) Facts {
	f := Facts{Now: now, Key: "k", Last: Last{Known: true, Key: "k", Ended: now.Add(-time.Minute)}, Interval: time.Hour, Retry: 30 * time.Second}
	if change != nil {
		change(&f)
	}
	return f
}

func TestWhen(t *testing.T) {
	for sentence, c := range map[string]struct {
		facts Facts
		want  Decision
	}{
		"nothing new: wait for the interval": {settled(nil), Decision{Verb: Nothing, NextCheck: now.Add(59 * time.Minute)}},
		"the interval is over: look again": {settled(func(f *Facts) { f.Last.Ended = now.Add(-time.Hour) }),
			Decision{Verb: Attempt, Message: "the interval is over"}},
		"after a start: look": {settled(func(f *Facts) { f.Last = Last{} }),
			Decision{Verb: Attempt, Message: "the server has started, or the release is new"}},
		"a new chart: upgrade at once": {settled(func(f *Facts) { f.Key = "l" }), Decision{Verb: Attempt, Message: "an input has changed"}},
		"a request: look at once": {settled(func(f *Facts) { f.Requested = "1" }),
			Decision{Verb: Attempt, Message: "a reconciliation was requested"}},
		"a failure that may pass: again after the pause":   {settled(func(f *Facts) { f.Last.Failed = true }), Decision{Verb: Attempt, Message: "the interval is over"}},
		"a failure just now: wait for the pause":           {settled(func(f *Facts) { f.Last.Failed, f.Last.Ended = true, now }), Decision{Verb: Nothing, NextCheck: now.Add(30 * time.Second)}},
		"a failure that only a change ends: the interval":  {settled(func(f *Facts) { f.Last.Failed, f.Last.Final = true, true }), Decision{Verb: Nothing, NextCheck: now.Add(59 * time.Minute)}},
		"a failure with a pause of the spec: that pause":   {settled(func(f *Facts) { f.Last.Failed, f.Last.RetryAfter = true, 5*time.Minute }), Decision{Verb: Nothing, NextCheck: now.Add(4 * time.Minute)}},
		"suspended: nothing":                               {settled(func(f *Facts) { f.Suspended, f.Key = true, "l" }), Decision{Verb: Nothing, Message: "suspended"}},
		"moved to another home: nothing":                   {settled(func(f *Facts) { f.Moved, f.Key = "moved", "l" }), Decision{Verb: Nothing, Message: "moved"}},
		"moved and deleted: let it go":                     {settled(func(f *Facts) { f.Moved, f.Deleting = "moved", true }), Decision{Verb: Delete}},
		"an attempt is running: wait for it":               {settled(func(f *Facts) { f.Busy, f.Key = true, "l" }), Decision{Verb: Nothing, Message: "an attempt is running"}},
		"deleted: uninstall":                               {settled(func(f *Facts) { f.Deleting = true }), Decision{Verb: Delete}},
		"deleted and suspended: the same":                  {settled(func(f *Facts) { f.Deleting, f.Suspended = true, true }), Decision{Verb: Delete}},
		"deleted in the middle of an upgrade: end that":    {settled(func(f *Facts) { f.Deleting, f.Busy = true, true }), Decision{Verb: Cancel}},
		"deleted in the middle of the uninstall: let it":   {settled(func(f *Facts) { f.Deleting, f.Busy, f.Removing = true, true, true }), Decision{Verb: Nothing, Message: "an attempt is running"}},
		"deleted after a failed upgrade: uninstall":        {settled(func(f *Facts) { f.Deleting, f.Last.Failed, f.Last.Ended = true, true, now }), Decision{Verb: Delete}},
		"the uninstall failed just now: wait":              {settled(func(f *Facts) { f.Deleting, f.Last.Removal, f.Last.Failed, f.Last.Ended = true, true, true, now }), Decision{Verb: Nothing, Message: "the uninstall failed", NextCheck: now.Add(30 * time.Second)}},
		"an invalid spec: the user changes it":             {settled(func(f *Facts) { f.Invalid, f.InvalidReason = "wrong", "InvalidSpec" }), Decision{Verb: Fail, Reason: "InvalidSpec", Message: "wrong"}},
		"a chart in a namespace that is not allowed: fail": {settled(func(f *Facts) { f.Chart.Denied = "no" }), Decision{Verb: Fail, Reason: reasonAccess, Message: "no"}},
		"no chart yet: wait for it":                        {settled(func(f *Facts) { f.Chart.Waiting = "not ready" }), Decision{Verb: Wait, Reason: reasonSource, Message: "not ready"}},
		"a dependency is not ready: wait for it": {settled(func(f *Facts) { f.Dependencies = []Dependency{{Name: "a/b"}} }),
			Decision{Verb: Wait, Reason: reasonDependency, Message: "dependency 'a/b' is not ready"}},
		"a dependency before the chart": {settled(func(f *Facts) { f.Dependencies, f.Chart.Missing = []Dependency{{Name: "a/b", Missing: true}}, "no" }),
			Decision{Verb: Wait, Reason: reasonDependency, Message: "dependency 'a/b' does not exist"}},
		"a cycle: the user breaks it": {settled(func(f *Facts) { f.Cycle = []string{"a/b", "a/c", "a/b"} }),
			Decision{Verb: Fail, Reason: reasonCycle, Message: "spec.dependsOn is a cycle: a/b -> a/c -> a/b"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := When(c.facts); got != c.want {
				t.Errorf("decided %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestLawsOfWhen(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	yes := func() bool { return r.IntN(4) == 0 }
	text := func() string { return []string{"", "", "", "x"}[r.IntN(4)] }
	for range 100_000 {
		f := Facts{Now: now, Deleting: yes(), Suspended: yes(), Moved: text(), Busy: yes(), Removing: yes(), Invalid: text(), Key: text(),
			Chart: Chart{Denied: text(), Missing: text(), Waiting: text()}, Requested: text(), Interval: time.Hour, Retry: time.Minute,
			Last: Last{Known: yes(), Key: text(), Ended: now.Add(-time.Duration(r.IntN(7200)) * time.Second), Failed: yes(), Final: yes()}}
		if yes() {
			f.Dependencies = []Dependency{{Name: "a", Ready: yes()}}
		}
		d := When(f)
		switch {
		case d.Verb == Attempt && (f.Moved != "" || f.Busy) || d.Verb == Delete && (f.Busy || !f.Deleting):
			t.Fatalf("%+v: %+v works on a release of somebody else", f, d)
		case d.Verb == Attempt && (f.Suspended || f.Deleting || f.Invalid != "" || f.Chart != Chart{} || len(f.Dependencies) > 0 && !f.Dependencies[0].Ready):
			t.Fatalf("%+v: %+v begins too early", f, d)
		case d.Verb == Nothing && !f.Deleting && d.NextCheck.IsZero() && f.Moved == "" && !f.Busy && !f.Suspended:
			t.Fatalf("%+v: %+v waits forever", f, d)
		case !d.NextCheck.IsZero() && !d.NextCheck.After(now):
			t.Fatalf("%+v: %+v waits for the past", f, d)
		}
	}
}
