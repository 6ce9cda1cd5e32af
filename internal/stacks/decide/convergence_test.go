// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestMain makes rapid check more facts than by default, and write no files after a failure (it
// prints the seed); flags take precedence.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{"rapid.checks": "1000", "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// runsInARow is how many runs may follow each other without an outside event: a stale plan is made
// again, then applied by approval of equal changes or mode auto; a failed destroy is followed by
// one with the kept inputs.
const runsInARow = 3

// From any facts, runs come to an end, and the changes that a plan found are applied or pending.
func TestDecisionsConverge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(drawFacts(t))
		w.changes = rapid.SampledFrom([]string{"", "create"}).Draw(t, "changes")
		w.opinion = rapid.SampledFrom([]Opinion{OpinionFreed, OpinionFreed, OpinionPassed, OpinionHeld, OpinionRefused}).Draw(t, "the policies say")
		first := Decide(w.facts)
		d, trail := w.settle(runsInARow + 3)
		if trail != nil {
			t.Fatalf("still going:\n%s", strings.Join(trail, "\n"))
		}
		if w.facts.Stack.Deleting || !first.Verb.StartsRun() {
			return
		}
		// What policies refuse is not planned again after the apply, and no run starts while they are not known.
		if w.facts.Policy.Refused != "" && d.Reason == ReasonPolicyRefused || w.facts.Policy.Problem != "" && d.Reason == ReasonPolicyUnknown {
			return
		}
		if w.changes == "" && d.Verb != VerbRest {
			t.Fatalf("nothing to change, but %s", d)
		}
		if w.changes != "" && (d.Verb != VerbAwaitApproval || appliesByItself(w.facts.Stack) && !pendingRejected(w.facts) && w.facts.Pending.HeldBy == "" && w.facts.Takeover == nil && !objects(w.facts, false)) {
			t.Fatalf("%s is to do, but %s", w.changes, d)
		}
	})
}

// From any facts and with any results, there is a pause between runs.
func TestFailuresConverge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(drawFacts(t))
		w.changes = rapid.SampledFrom([]string{"", "create"}).Draw(t, "changes")
		w.facts.Stack.RetryInterval, w.facts.Stack.Interval = time.Minute, time.Hour
		w.outcome = drawOutcome(t, succeeds, failsToPlan, failsForGood, failsBeforeApply, failsToApply, diesInPlan, diesInApply)
		if _, trail := w.settle(runsInARow + 3); trail != nil {
			t.Fatalf("still going:\n%s", strings.Join(trail, "\n"))
		}
	})
}

// A stack that always fails is tried about once per retry interval, and not less.
func TestRetriesWaitForTheirInterval(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFacts(t)
		f.Stack.RetryInterval, f.Stack.MaxRetryInterval, f.Stack.Interval = time.Minute, 0, everyTenMinutes
		f = undisturbed(f)
		f.Stack.MaxFailures = 0
		w := newWorld(f)
		w.outcome = drawOutcome(t, failsToPlan, failsBeforeApply, diesInPlan)

		runs, end := 0, noon.Add(time.Hour)
		for w.facts.Now.Before(end) {
			d, more := w.step()
			switch {
			case more:
				runs++
			case d.NextCheck.IsZero() && !f.Last.mayWait(f):
				t.Fatalf("given up: %s", d)
			case d.NextCheck.IsZero():
				return
			case !d.NextCheck.After(w.facts.Now):
				t.Fatalf("waits for the past: %s", d)
			default:
				w.facts.Now = d.NextCheck
			}
		}
		// A run takes a second, then there is a minute's wait; only the first two may follow each
		// other.
		if runs < 59 || runs > 61 {
			t.Fatalf("%d runs in an hour", runs)
		}
	})
}

// undisturbed: nothing prevents a plan, and one is due.
func undisturbed(f Facts) Facts {
	f.Stack.Deleting, f.Stack.Suspended, f.Stack.Held = false, false, false
	f.Current, f.Lock, f.StateProblem, f.Takeover, f.Dependencies, f.Cycle = nil, nil, "", nil, nil, ""
	f.Source, f.Inputs.Ready, f.Config, f.Circuit = Source{Ready: true, Revision: newRevision}, true, present, nil
	f.Stack.PlannedConfig, f.Policy.Problem, f.Policy.Refused, f.Contracts.Problem = other, "", "", ""
	if f.Last != nil {
		f.Last.RefusedUntil = time.Time{}
	}
	if f.Pending != nil && f.Pending.Verdict != nil {
		f.Pending.Verdict.Until = time.Time{}
	}
	return f
}

// A stack that always fails uses up its attempts, and stops until a change or a request resets the
// count.
func TestAttemptsAreCounted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := undisturbed(drawFacts(t))
		f.Last, f.Pending = nil, nil
		f.Stack.MaxFailures = rapid.IntRange(1, 5).Draw(t, "most failures")
		w := newWorld(f)
		w.outcome = drawOutcome(t, failsToPlan, failsBeforeApply, diesInPlan)
		for _, change := range []func(){
			func() {},
			func() { w.facts.Stack.Generation++ },
			func() { w.facts.Source.Revision = "main@sha1:ffffffffffff" },
			func() { w.facts.Stack.Requested = "third" },
			func() { w.facts.Config = other },
		} {
			change()
			runs := 0
			for {
				d, more := w.step()
				if more {
					runs++
					continue
				}
				if d.NextCheck.IsZero() {
					if d.Reason != ReasonRetryLimit {
						t.Fatalf("no progress: %s", d)
					}
					break
				}
				w.facts.Now = d.NextCheck
			}
			if runs != f.Stack.MaxFailures {
				t.Fatalf("%d runs, want %d", runs, f.Stack.MaxFailures)
			}
		}
	})
}

// mayWait: the facts began with a failure that only a change fixes.
func (r *Run) mayWait(f Facts) bool {
	return r != nil && r.Config == f.Config && (r.Failed && r.Waits || r.Stopped)
}

// A new plan with unchanged facts is not repeated before the drift interval.
func TestPlansAreNotRepeated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFacts(t)
		f.Stack.Interval = time.Hour
		w := newWorld(f)
		w.changes = rapid.SampledFrom([]string{"", "create"}).Draw(t, "changes")
		d, ran := w.step()
		if !ran || d.Verb != VerbPlan {
			return
		}
		if next := Decide(w.facts); next.Verb == VerbPlan || next.Verb == VerbPlanAndApply {
			t.Fatalf("after %s comes %s", d, next)
		}
	})
}
