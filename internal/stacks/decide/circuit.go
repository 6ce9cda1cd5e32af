// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"time"
)

// Circuit is the circuit breaker that concerns the stack: an outage of many stacks.
type Circuit struct {
	// Name is the object's name; What describes the outage.
	Name, What string
	// Open: the outage continues. Yuba applies nothing without approval.
	Open bool
	// Failed: the stack's last run failed for the same reason. While the circuit is open, the stack
	// is paused unless Probe selects it; after it closes, until ResumeAt.
	Failed   bool
	Probe    bool
	ResumeAt time.Time
	// ClosedAt is zero while the circuit is open.
	ClosedAt time.Time
}

func circuitOpen(f Facts) bool { return f.Circuit != nil && f.Circuit.Open }

// circuitRests pauses a stack, because another attempt would fail, too. Requests, approved plans
// and configurations that have not failed yet still run.
func circuitRests(f Facts) (Decision, bool) {
	c := f.Circuit
	if c == nil || !c.Failed || requested(f) || appliesAsApproved(f) || canceled(f) {
		return Decision{}, false
	}
	if c.Open && c.Probe && dependenciesReady(f) && f.Policy.Refused == "" && f.Policy.Problem == "" {
		return Decision{Verb: VerbPlan, Reason: ReasonCircuitProbe, Message: fmt.Sprintf("Probing whether the outage of circuit breaker %s is over", c.Name),
			Purpose: lookOrDeploy(f), Destroy: f.Stack.Destroy, Describe: true, Again: unsuccessfulLast(f), Hold: holdsBack(f)}, true
	}
	if !lastFailedSameConfig(f) || !c.Open && !resumesLater(f) {
		return Decision{}, false
	}
	return Decision{Verb: VerbWait, Reason: ReasonCircuitOpen, Message: CircuitMessage(c.Name, c.What, f.Stack.Call), NextCheck: c.ResumeAt}, true
}

// appliesAsApproved reports whether a person approved the pending plan and nothing blocks it.
func appliesAsApproved(f Facts) bool {
	_, applies := pendingApproved(f)
	return applies && named(f)
}

// CircuitMessage says why a stack is paused. It stays the same during the outage.
func CircuitMessage(name, what, call string) string {
	return CircuitPrefix(name) + fmt.Sprintf("%s. Yuba retries when the outage is over; to retry now: yuba reconcile %s", what, call)
}

// CircuitPrefix begins CircuitMessage; it does not change as the circuit breaker learns more.
func CircuitPrefix(name string) string { return fmt.Sprintf("Paused by circuit breaker %s: ", name) }

func dependenciesReady(f Facts) bool {
	_, waits := dependencyNotReady(f)
	return !waits
}

func unsuccessfulLast(f Facts) bool {
	return f.Last != nil && unsuccessful(f.Last) && !changedSinceLast(f)
}

// resumes reports whether the outage in which the last run failed is over.
func resumes(f Facts) bool {
	c := f.Circuit
	return c != nil && !c.Open && c.Failed && lastFailedSameConfig(f) && !canceled(f) && !f.Last.Finished.After(c.ClosedAt)
}

// canceled reports whether a person canceled the last run and nothing has changed since.
func canceled(f Facts) bool { return lastFailedSameConfig(f) && f.Last.Stopped }

func resumesLater(f Facts) bool { return resumes(f) && f.Now.Before(f.Circuit.ResumeAt) }

// recovering reports whether the stack had no drift check since the outage, whose effects often
// look like drift.
func recovering(f Facts) bool {
	return f.Circuit != nil && !f.Circuit.Open && !f.LastDriftCheck.After(f.Circuit.ClosedAt)
}

// deploys reports whether a plan made now contains changes that people made, not only drift. While
// drift is held for approval, every plan contains it.
func deploys(f Facts) bool {
	return !driftHeld(f) && (f.Stack.PlannedConfig != f.Config || !f.Stack.AppliedOnce || f.Pending != nil && !f.Pending.Drift)
}

func driftHeld(f Facts) bool { return f.Pending != nil && f.Pending.Drift && f.Pending.HeldBy != "" }

func lookOrDeploy(f Facts) string {
	if deploys(f) {
		return PurposeDeploy
	}
	return PurposeDrift
}

// holdsBack names the circuit breaker that holds a plan of an auto-approving stack; empty for none.
func holdsBack(f Facts) string {
	switch {
	case !appliesByItself(f.Stack):
		return ""
	case circuitOpen(f):
		return f.Circuit.Name
	// A change held since an outage must not be applied as part of another plan.
	case driftHeld(f):
		return f.Pending.HeldBy
	case recovering(f) && !deploys(f):
		return f.Circuit.Name
	}
	return ""
}

// outlived: a deployment planned during an outage is planned again, without the outage's effects.
func outlived(f Facts) bool {
	return f.Pending.HeldBy != "" && !f.Pending.Drift && !circuitOpen(f)
}

// HeldMessage says why a plan waits although the stack applies automatically.
func HeldMessage(plan, by, call string) string {
	return fmt.Sprintf("Plan %s is held for approval by circuit breaker %s although plans are applied automatically: the effects of an outage often look like drift. "+
		"Review it, then: yuba approve %s", plan, by, call)
}
