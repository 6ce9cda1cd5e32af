// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"strings"
	"time"

	"pgregory.net/rapid"
)

// world models everything around Decide: it carries out decisions and records the results as Facts
// documents them.
type world struct {
	facts   Facts
	history PlanHistory
	// changes identifies the changes of a plan now; empty for none.
	changes string
	// outcome draws the result of the next run.
	outcome func(apply bool) outcome
	// opinion is what policies say about plans.
	opinion Opinion
	// released: the finalizer was removed.
	released bool
	// plannedKept: the pending plan was made with the kept source and inputs.
	plannedKept bool
	// began counts applies by plan id, without those that need no approval.
	began map[string]int
}

// outcome is the result of a run.
type outcome string

const (
	succeeds          outcome = "succeeds"
	failsToPlan       outcome = "fails to plan"
	failsForGood      outcome = "fails to plan for good"
	failsToApply      outcome = "fails in the apply"
	failsBeforeApply  outcome = "fails before the apply"
	diesInApply       outcome = "is interrupted in the apply"
	diesInPlan        outcome = "is interrupted in the plan"
	stoppedBeforehand outcome = "is stopped before it begins"
)

// takes is the duration of a run.
const takes = time.Second

func newWorld(f Facts) *world {
	w := &world{facts: clone(f), began: map[string]int{}}
	w.history.Applied = f.Stack.LastAppliedPlan
	if p := f.Pending; p != nil {
		w.history.PendingID, w.history.PendingChanges = p.ID, w.changes
	}
	w.outcome, w.opinion = func(bool) outcome { return succeeds }, OpinionFreed
	return w
}

// step carries out one decision, and reports whether there was something to do.
func (w *world) step() (Decision, bool) {
	d := Decide(w.facts)
	if d.Verb == VerbJudge {
		w.facts.Pending.Contracts = &ContractVerdict{Breaks: w.opinion == OpinionHeld, Message: breaksOne, Set: w.facts.Contracts.Set}
		w.facts.Pending.Verdict = &Verdict{Opinion: w.opinion, Message: "safe: no-destroy", Set: w.facts.Policy.Set}
		d = Decide(w.facts)
	}
	w.forgive()
	switch {
	case d.Verb.StartsRun():
		w.run(d)
	case d.Verb == VerbCancel:
		w.facts.Current.Canceled = true
		w.endCanceled()
	case d.Verb == VerbUnlock:
		w.facts.Lock = nil
	case d.Verb == VerbRelease:
		w.released = true
		return d, false
	default:
		return d, false
	}
	return d, true
}

// forgive resets refused attempts once source and inputs are usable.
func (w *world) forgive() {
	if w.facts.Refused.At.IsZero() || w.facts.Config == "" {
		return
	}
	w.facts.Refused = Refusal{}
	if w.facts.Last != nil {
		last := *w.facts.Last
		last.Failures = 0
		w.facts.Last = &last
	}
}

func (w *world) endCanceled() {
	last := *w.facts.Current
	last.Finished = w.facts.Now
	w.facts.Current, w.facts.Last = nil, &last
}

// run starts a run and records its end.
func (w *world) run(d Decision) {
	f := &w.facts
	r := &Run{ID: "run", Purpose: d.Purpose, Apply: d.Verb != VerbPlan, Config: f.Config, Destroy: d.Destroy, UsedKept: d.UseKept,
		Generation: f.Stack.Generation, Revision: f.Source.Revision}
	if d.Verb == VerbApply {
		r.UsedKept = w.plannedKept // an apply uses what its plan used
	}
	f.Stack.Handled = f.Stack.Requested
	how := w.outcome(r.Apply)
	f.Now = f.Now.Add(takes)
	r.Finished = f.Now
	w.endProbe(how == succeeds)

	quiet := false
	switch how {
	case succeeds:
		f.Contracts.Moved = ""
		quiet = w.succeed(d, r)
	case failsToPlan, failsBeforeApply:
		r.Failed = true
	case failsForGood:
		r.Failed, r.Waits = true, true
	case diesInPlan:
		r.Interrupted = true
	case stoppedBeforehand:
		r.Canceled = true
	case failsToApply, diesInApply:
		r.Failed, r.Interrupted = how == failsToApply, how == diesInApply
		w.begin(d, r)
	}
	if r.Failed || r.Interrupted {
		if d.Verb == VerbApply && f.Pending != nil {
			f.Pending.Usable = false
		}
		r.Failures = 1
		if d.Again {
			r.Failures += f.Last.Failures
		}
	}
	if !quiet {
		f.Last = r
	}
}

// endProbe updates the circuit after a run: a successful stack no longer fails alike.
func (w *world) endProbe(succeeded bool) {
	if w.facts.Circuit == nil {
		return
	}
	c := *w.facts.Circuit
	c.Probe, c.Failed = false, c.Open && !succeeded
	w.facts.Circuit = &c
}

// begin begins an apply, which uses up the pending plan whatever its result.
func (w *world) begin(d Decision, r *Run) {
	r.ApplyStarted = true
	if d.Verb == VerbApply {
		w.began[d.Subject]++
	} else {
		w.facts.Stack.PlannedConfig, w.facts.LastDriftCheck = w.facts.Config, w.facts.Now
	}
	w.drop()
	w.stateMoves()
}

func (w *world) drop() {
	w.facts.Pending, w.history.PendingID, w.history.PendingChanges = nil, "", ""
}

func (w *world) stateMoves() {
	if !w.facts.Stack.OwnBackend {
		w.facts.StateSerial++
		w.facts.StateExists = true
	}
}

// succeed records a successful run; quiet if it leaves no record of its own.
func (w *world) succeed(d Decision, r *Run) (quiet bool) {
	f := &w.facts
	if d.Verb != VerbApply {
		f.Stack.PlannedConfig, f.LastDriftCheck = f.Config, f.Now
		f.Stack.PlannedRevision, f.Stack.PlannedGeneration = f.Source.Revision, f.Stack.Generation
		if w.changes == "" {
			w.drop()
			f.Takeover = nil
			return d.Reason == ReasonDriftDue
		}
	}
	if d.Verb == VerbPlan {
		w.keepPlan(d)
		r.OnlyPlanned = true
		return false
	}
	id := d.Subject
	if id == "" {
		id = BasePlanID(f.Source.Revision)
	}
	w.begin(d, r)
	f.Stack.AppliedOnce, f.Stack.LastAppliedPlan, w.history.Applied = true, id, id
	w.changes, f.Takeover = "", nil
	return false
}

func (w *world) keepPlan(d Decision) {
	w.plannedKept = d.UseKept
	w.history.Named = w.facts.Stack.Approved
	id, next := NamePlan(w.history, w.facts.Source.Revision, w.changes)
	w.history = next
	w.facts.Pending = &Plan{ID: id, Config: w.facts.Config, StateSerial: w.facts.StateSerial, Destroy: d.Destroy,
		Drift: d.Purpose == PurposeDrift, Deletion: d.Purpose == PurposeDelete, Usable: true, HeldBy: d.Hold}
}

// settle carries out decisions until there is nothing to do and returns the last one, or the steps
// if there are too many.
func (w *world) settle(steps int) (Decision, []string) {
	var trail []string
	for range steps {
		d, more := w.step()
		trail = append(trail, d.String())
		if !more {
			return d, nil
		}
	}
	return Decision{}, trail
}

func drawOutcome(t *rapid.T, allowed ...outcome) func(bool) outcome {
	return func(apply bool) outcome {
		o := rapid.SampledFrom(allowed).Draw(t, "the run")
		if !apply && strings.HasSuffix(string(o), "in the apply") {
			return succeeds
		}
		return o
	}
}
