// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var now = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// settled are the facts of a Kustomization without work.
func settled(changes ...func(*Facts)) Facts {
	f := Facts{
		Now:           now,
		Kustomization: Kustomization{Interval: time.Hour, RetryInterval: 10 * time.Minute, Timeout: 5 * time.Minute, Watched: true},
		Source:        Source{Name: "GitRepository a/src", Revision: "main@sha1:1"},
		Applied:       Applied{Known: true, Key: "k", WantedKey: "k", At: now.Add(-time.Minute)},
	}
	for _, change := range changes {
		change(&f)
	}
	return f
}

func TestDecide(t *testing.T) {
	in := func(d time.Duration) time.Time { return now.Add(d) }
	unready := Dependency{Name: "a/b"}
	for sentence, c := range map[string]struct {
		facts Facts
		want  Decision
	}{
		"all is as it should be: rest": {
			settled(), Decision{Verb: VerbRest, Reason: ReasonUpToDate, NextCheck: in(time.Hour)}},
		"a deleted one goes, suspended or not": {
			settled(func(f *Facts) { f.Kustomization.Deleting, f.Kustomization.Suspended = true, true }), Decision{Verb: VerbDelete, Reason: ReasonDeleted}},
		"a suspended one rests, whatever has changed": {
			settled(func(f *Facts) { f.Kustomization.Suspended, f.Applied.WantedKey = true, "other" }),
			Decision{Verb: VerbRest, Reason: ReasonSuspended, Message: "Reconciliation is suspended"}},
		"one that another home works on is left alone, even if somebody resumed it": {
			settled(func(f *Facts) { f.Kustomization.Moved, f.Applied.WantedKey = "Moved to prod", "other" }),
			Decision{Verb: VerbWait, Reason: ReasonMoved, Message: "Moved to prod"}},
		"an expression that cannot be compiled: fail": {
			settled(func(f *Facts) {
				f.Kustomization.Invalid, f.Kustomization.InvalidReason = "no", ReasonInvalidCELExpression
			}),
			Decision{Verb: VerbFail, Reason: ReasonInvalidCELExpression, Message: "no"}},
		"a source of another namespace: fail": {
			settled(func(f *Facts) { f.Source = Source{Denied: true, Reason: "blocked"} }),
			Decision{Verb: VerbFail, Reason: ReasonAccessDenied, Message: "blocked"}},
		"no source: wait": {
			settled(func(f *Facts) { f.Source = Source{Missing: true, Reason: "not found"} }),
			Decision{Verb: VerbWait, Reason: ReasonArtifactFailed, Message: "not found", NextCheck: in(10 * time.Minute)}},
		"a source without an artifact: wait for it": {
			settled(func(f *Facts) { f.Source.Revision = "" }),
			Decision{Verb: VerbWait, Reason: ReasonArtifactFailed, Message: "Source artifact not found: GitRepository a/src does not have one yet"}},
		"a circle is named": {
			settled(func(f *Facts) { f.Cycle = []string{"a/x", "a/y"} }),
			Decision{Verb: VerbFail, Reason: ReasonDependencyCycle, Message: "These Kustomizations depend on each other in a circle: a/x → a/y → a/x. Remove one of the dependsOn"}},
		"a new revision before a dependency is ready: wait": {
			settled(func(f *Facts) { f.Applied.WantedKey, f.Dependencies = "other", []Dependency{unready} }),
			Decision{Verb: VerbWait, Reason: ReasonDependencyNotReady, Message: "dependency 'a/b' is not ready", NextCheck: in(30 * time.Second)}},
		"a dependency of the same source that has not the revision: wait": {
			settled(func(f *Facts) {
				f.Applied.WantedKey, f.Dependencies = "other", []Dependency{{Name: "a/b", Ready: true, SameSource: true}}
			}),
			Decision{Verb: VerbWait, Reason: ReasonDependencyNotReady, Message: "dependency 'a/b' revision is not up to date", NextCheck: in(30 * time.Second)}},
		"a dependency in trouble does not touch what is in place": {
			settled(func(f *Facts) { f.Dependencies = []Dependency{unready} }),
			Decision{Verb: VerbRest, Reason: ReasonUpToDate, NextCheck: in(time.Hour)}},
		"a new revision: apply": {
			settled(func(f *Facts) { f.Applied.WantedKey = "other" }), Decision{Verb: VerbApply, Reason: ReasonChanged}},
		"a request: apply everything": {
			settled(func(f *Facts) { f.Kustomization.Requested = "x" }), Decision{Verb: VerbApply, Reason: ReasonRequested, Full: true}},
		"a request that was answered: rest": {
			settled(func(f *Facts) { f.Kustomization.Requested, f.Kustomization.Handled = "x", "x" }),
			Decision{Verb: VerbRest, Reason: ReasonUpToDate, NextCheck: in(time.Hour)}},
		"after a restart: apply everything": {
			settled(func(f *Facts) { f.Applied = Applied{WantedKey: "k"} }), Decision{Verb: VerbApply, Reason: ReasonRestarted, Full: true}},
		"a failure waits for its retry": {
			settled(func(f *Facts) { f.Applied.Failed, f.Applied.Dirty = true, 3 }),
			Decision{Verb: VerbRest, Reason: ReasonRetryPending, NextCheck: in(9 * time.Minute)}},
		"a failure is tried again": {
			settled(func(f *Facts) { f.Applied.Failed, f.Applied.At = true, in(-time.Hour) }), Decision{Verb: VerbApply, Reason: ReasonRetryDue}},
		"a failure with a new revision is tried at once": {
			settled(func(f *Facts) { f.Applied.Failed, f.Applied.WantedKey = true, "other" }), Decision{Verb: VerbApply, Reason: ReasonChanged}},
		"a lasting failure waits for a change": {
			settled(func(f *Facts) { f.Applied.Failed, f.Applied.Lasting = true, true }), Decision{Verb: VerbRest, Reason: ReasonFailedForGood}},
		"a lasting failure keeps nobody's changes": {
			settled(func(f *Facts) { f.Applied.Failed, f.Applied.Lasting, f.Applied.Dirty = true, true, 1 }),
			Decision{Verb: VerbApply, Reason: ReasonDrift, Message: "1 objects were changed"}},
		"an object that others had is free: apply": {
			settled(func(f *Facts) { f.Applied.Failed, f.Applied.Freed = true, true }), Decision{Verb: VerbApply, Reason: ReasonFreed}},
		"somebody changed an object: apply": {
			settled(func(f *Facts) { f.Applied.Dirty = 2 }), Decision{Verb: VerbApply, Reason: ReasonDrift, Message: "2 objects were changed"}},
		"somebody changes an object again and again: patience": {
			settled(func(f *Facts) { f.Applied.Dirty, f.Applied.Drifts, f.Applied.Drifted = 2, 8, now }),
			Decision{Verb: VerbRest, Reason: ReasonDriftAgain, NextCheck: in(8 * time.Second)}},
		"a cluster that is not watched is looked at on the interval": {
			settled(func(f *Facts) { f.Kustomization.Watched, f.Applied.At = false, in(-time.Hour) }),
			Decision{Verb: VerbApply, Reason: ReasonIntervalOver, Full: true}},
		"objects that are not well are waited for until the time is up": {
			settled(func(f *Facts) { f.Health = Health{Checked: true, Waiting: true, Since: now, Looked: now} }),
			Decision{Verb: VerbRest, Reason: ReasonHealthPending, NextCheck: in(5 * time.Minute)}},
		"an object that is checked has changed: look": {
			settled(func(f *Facts) {
				f.Health = Health{Checked: true, Waiting: true, Since: now, Looked: now, Changed: true}
			}),
			Decision{Verb: VerbCheckHealth, Reason: ReasonHealthChanged}},
		"an object that is not watched: look every five seconds": {
			settled(func(f *Facts) { f.Health = Health{Checked: true, Waiting: true, Since: now, Looked: now, Polled: true} }),
			Decision{Verb: VerbRest, Reason: ReasonHealthPending, NextCheck: in(5 * time.Second)}},
		"the time is up": {
			settled(func(f *Facts) {
				f.Health = Health{Checked: true, Waiting: true, Since: in(-5 * time.Minute), Looked: now}
			}),
			Decision{Verb: VerbCheckHealth, Reason: ReasonHealthTimeout}},
		"what was not well in time is looked at again after the retry interval": {
			settled(func(f *Facts) {
				f.Health = Health{Checked: true, Waiting: true, Failed: true, Since: in(-time.Hour), Looked: now}
			}),
			Decision{Verb: VerbRest, Reason: ReasonRetryPending, NextCheck: in(10 * time.Minute)}},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Decide(c.facts)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestHoldPrune(t *testing.T) {
	names := func(n int) []string { return strings.Split(strings.Repeat("x ", n-1)+"x", " ") }
	for sentence, c := range map[string]struct {
		p    Prune
		held bool
	}{
		"one of one passes":                          {Prune{Inventory: 1, Stale: names(1)}, false},
		"nine of nine pass":                          {Prune{Inventory: 9, Stale: names(9)}, false},
		"ten of ten are held":                        {Prune{Inventory: 10, Stale: names(10)}, true},
		"ten of twenty pass: half is not over half":  {Prune{Inventory: 20, Stale: names(10)}, false},
		"ten of nineteen are held":                   {Prune{Inventory: 19, Stale: names(10)}, true},
		"the very revision is confirmed":             {Prune{Inventory: 10, Stale: names(10), Revision: "r", Confirmed: "r"}, false},
		"another revision's confirmation counts not": {Prune{Inventory: 10, Stale: names(10), Revision: "r", Confirmed: "q"}, true},
		"no revision confirms nothing":               {Prune{Inventory: 10, Stale: names(10)}, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := HoldPrune(c.p) != ""; got != c.held {
				t.Errorf("held: %v", got)
			}
		})
	}
}
