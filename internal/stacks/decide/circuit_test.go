// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

const (
	outage     = "aws-down"
	wentAround = "provider hashicorp/aws is unavailable"
)

func (g *given) outage(changes ...func(*Circuit)) *given {
	c := &Circuit{Name: outage, What: wentAround, Open: true}
	for _, change := range changes {
		change(c)
	}
	g.facts.Circuit, g.facts.Stack.Call = c, "vpc -n team"
	return g
}

func alike(c *Circuit)  { c.Failed = true }
func probed(c *Circuit) { c.Failed, c.Probe = true, true }

// over sets how long ago the outage ended.
func over(ago time.Duration) func(*Circuit) {
	return func(c *Circuit) { c.Open, c.ClosedAt, c.ResumeAt = false, noon.Add(-ago), noon.Add(-ago) }
}

func resuming(in time.Duration) func(*Circuit) {
	return func(c *Circuit) { c.ResumeAt = noon.Add(in) }
}

func (d Decision) held() Decision { d.Hold = outage; return d }

func heldDrift() *given {
	return awaiting("plan-main-1").auto().with(func(f *Facts) { f.Pending.Drift, f.Pending.HeldBy = true, outage })
}

func rested(next time.Time) Decision {
	return Decision{Verb: VerbWait, Reason: ReasonCircuitOpen, Message: CircuitMessage(outage, wentAround, "vpc -n team"), NextCheck: next}
}

// Effects of a circuit breaker on the stacks that it concerns.
var circuitScenarios = scenarios{
	"in an outage, a stack with the same failure rests": {
		settled().auto().failed(time.Hour, asIs).outage(alike), rested(time.Time{}),
	},
	"in an outage, a selected stack with the same failure is probed with a plan only": {
		settled().auto().failed(time.Minute, asIs).outage(probed),
		plans(ReasonCircuitProbe, "Probing whether the outage of circuit breaker aws-down is over").forDrift().again().held(),
	},
	"in an outage, a probe waits for the stack's dependencies": {
		settled().auto().failed(time.Minute, asIs).dependsOn("net", notReady).outage(probed), rested(time.Time{}),
	},
	"in an outage, a reconcile request is planned": {
		settled().auto().failed(time.Minute, asIs).requested().outage(alike),
		plans(ReasonRequested, "Reconciliation was requested").forDrift().held(),
	},
	"in an outage, a configuration that has not failed yet is planned, not applied": {
		settled().auto().failed(time.Minute, ofOther).outage(alike),
		plans(ReasonConfigChanged, "The configuration changed").held().with(func(d *Decision) { d.Purpose = PurposeDrift }),
	},
	"in an outage, a stack that did not fail is checked for drift, but not repaired": {
		settled().auto().checkedForDrift(time.Hour).outage(), plans(ReasonDriftDue, comparing).forDrift().held(),
	},
	"in an outage, a stack in manual mode is planned as usual": {
		settled().config(other).outage(), plans(ReasonConfigChanged, "The configuration changed"),
	},
	"in an outage, a new configuration is planned, not applied": {
		settled().auto().config(other).outage(), plans(ReasonConfigChanged, "The configuration changed").held(),
	},
	"in an outage, a plan is applied when approvePlan names it": {
		awaiting("plan-main-1").approving("plan-main-1").outage(), applies("plan-main-1"),
	},
	"in an outage, a plan of a stack in mode auto waits": {
		awaiting("plan-main-1").auto().outage(),
		awaitsApproval("plan-main-1", HeldMessage("plan-main-1", outage, "vpc -n team"), nextDriftCheck),
	},
	"in an outage, a plan of a stack in mode auto is applied when a person approves it": {
		awaiting("plan-main-1").auto().outage().with(func(f *Facts) { f.Stack.Allowed = "plan-main-1" }), applies("plan-main-1"),
	},
	"in an outage, a stack in mode disable with the same failure rests although its plan is approved": {
		awaiting("plan-main-1").disabled().failed(time.Hour, asIs).outage(alike).with(func(f *Facts) { f.Stack.Allowed = "plan-main-1" }),
		rested(time.Time{}),
	},
	"in an outage, a deletion continues": {
		settled().deleted().outage(alike), destroys(),
	},
	"after an outage, a failed stack waits for its turn": {
		settled().auto().failed(time.Hour, asIs).outage(alike, over(time.Minute), resuming(30*time.Second)), rested(noon.Add(30 * time.Second)),
	},
	"after an outage, a failed stack is planned, even with no attempts left": {
		settled().auto().allowing(1).failed(time.Hour, asIs).outage(alike, over(time.Minute)),
		plans(ReasonCircuitClosed, "The outage in which the last run failed is over").forDrift().held(),
	},
	"after an outage, a deployment that failed during it continues": {
		settled().auto().config(other).failed(time.Hour, ofOther).outage(alike, over(time.Minute)),
		plansAndApplies(ReasonCircuitClosed, "The outage in which the last run failed is over"),
	},
	"after an outage, the first drift check repairs nothing": {
		settled().auto().checkedForDrift(time.Hour).outage(over(time.Minute)), plans(ReasonDriftDue, comparing).forDrift().held(),
	},
	"after an outage and one drift check, drift is repaired": {
		settled().auto().checkedForDrift(time.Hour).outage(over(2 * time.Hour)), plansAndApplies(ReasonDriftDue, comparing).forDrift(),
	},
	"after an outage, a new configuration is applied": {
		settled().auto().config(other).outage(over(time.Second)), plansAndApplies(ReasonConfigChanged, "The configuration changed"),
	},
	"a held plan waits although the mode is auto": {
		heldDrift().outage(over(time.Hour)), awaitsApproval("plan-main-1", HeldMessage("plan-main-1", outage, "vpc -n team"), nextDriftCheck),
	},
	"a held plan waits when its circuit breaker no longer exists": {
		heldDrift().with(func(f *Facts) { f.Stack.Call = "vpc -n team" }), awaitsApproval("plan-main-1", HeldMessage("plan-main-1", outage, "vpc -n team"), nextDriftCheck),
	},
	"a held plan is applied when a person approves it": {
		heldDrift().with(func(f *Facts) { f.Stack.Allowed = "plan-main-1" }), applies("plan-main-1"),
	},
	"a held plan is made again on the interval and stays held": {
		heldDrift().checkedForDrift(time.Hour), plans(ReasonDriftDue, comparing).forDrift().held(),
	},
	"a new configuration does not apply a held plan with it": {
		heldDrift().config(other), plans(ReasonConfigChanged, "The configuration changed").forDrift().held(),
	},
	"a deployment planned during the outage is planned again after it and applied": {
		awaiting("plan-main-1").auto().with(func(f *Facts) { f.Pending.HeldBy = outage }).outage(over(time.Second)),
		plansAndApplies(ReasonPlanStale, "The plan was made during the outage of circuit breaker aws-down, which is over"),
	},
}

func (d Decision) with(change func(*Decision)) Decision { change(&d); return d }

func circuitLaw(f Facts, d Decision) string {
	if f.Stack.Deleting || f.Circuit == nil || !f.Circuit.Open {
		return ""
	}
	if d.Verb == VerbPlanAndApply {
		return "applies what it plans"
	}
	if d.Verb == VerbApply && d.Subject != f.Stack.Approved && d.Subject != f.Stack.Allowed {
		return "applies what nobody named"
	}
	return ""
}

func outageLaw(f Facts, d Decision) string {
	c := f.Circuit
	if f.Stack.Deleting || c == nil || !c.Failed || !d.Verb.StartsRun() || f.Last == nil || !unsuccessful(f.Last) || f.Last.Config != f.Config {
		return ""
	}
	if c.Open && !c.Probe && d.Reason != ReasonRequested && d.Verb != VerbApply {
		return "tries again"
	}
	// A run that a person stopped has no turn.
	if !c.Open && !f.Last.Stopped && f.Now.Before(c.ResumeAt) && !f.Last.Finished.After(c.ClosedAt) && d.Reason != ReasonRequested && d.Verb != VerbApply {
		return "tries again before its turn"
	}
	return ""
}

func recoveryLaw(f Facts, d Decision) string {
	c := f.Circuit
	if f.Stack.Deleting || c == nil || c.Open || f.LastDriftCheck.After(c.ClosedAt) {
		return ""
	}
	unchanged := f.Stack.PlannedConfig == f.Config && f.Stack.AppliedOnce && (f.Pending == nil || f.Pending.Drift)
	if unchanged && d.Verb == VerbPlanAndApply {
		return "repairs"
	}
	return ""
}

func holdLaw(f Facts, d Decision) string {
	p := f.Pending
	if f.Stack.Deleting || p == nil || p.HeldBy == "" || !p.Drift {
		return ""
	}
	byItself := appliesByItself(f.Stack)
	switch {
	case d.Verb == VerbPlanAndApply:
		return "applies more than what is held"
	case d.Verb == VerbApply && d.Subject != f.Stack.Approved && d.Subject != f.Stack.Allowed:
		return "applies what nobody named"
	case d.Verb == VerbPlan && byItself && d.Hold == "":
		return "forgets that it is held"
	}
	return ""
}

// An outage comes and goes: deployments are applied in the end, the outage's effects are held, and
// nothing is applied meanwhile.
func TestOutagesConverge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := undisturbed(drawFacts(t))
		f.Stack.Mode, f.Stack.PlanOnly, f.Stack.Force, f.Stack.Rejected, f.Stack.Approved, f.Stack.Allowed = ModeAuto, false, false, "", "", ""
		f.Stack.MaxFailures, f.Last = 0, nil
		f.Circuit = &Circuit{Name: outage, What: wentAround, Open: true}
		w := newWorld(f)
		w.changes = rapid.SampledFrom([]string{"", "create"}).Draw(t, "changes")
		w.outcome = drawOutcome(t, succeeds, failsToPlan)
		serial := w.facts.StateSerial
		for range 5 {
			d, trail := w.settle(6)
			if trail != nil {
				t.Fatalf("still going: %v", trail)
			}
			if w.facts.Now = w.facts.Now.Add(time.Minute); !d.NextCheck.IsZero() {
				w.facts.Now = d.NextCheck
			}
		}
		if w.facts.StateSerial != serial {
			t.Fatal("something was applied in the outage")
		}
		failed := w.facts.Circuit.Failed
		w.facts.Circuit = &Circuit{Name: outage, What: wentAround, Failed: failed, ClosedAt: w.facts.Now, ResumeAt: w.facts.Now}
		w.outcome = func(bool) outcome { return succeeds }
		d, trail := w.settle(6)
		if trail != nil {
			t.Fatalf("still going: %v", trail)
		}
		held := w.facts.Pending != nil && (w.facts.Pending.HeldBy != "" || objects(w.facts, false))
		if d.Verb == VerbWait || d.Verb == VerbAwaitApproval && !held {
			t.Fatalf("after the outage: %s", d)
		}
	})
}
