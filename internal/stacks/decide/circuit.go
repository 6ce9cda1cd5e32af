// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"time"
)

// Circuit is the circuit breaker that concerns the stack: one outage that many stacks suffer, or suffered, from alike.
type Circuit struct {
	// Name is the object's, What says in words what is out.
	Name, What string
	// Open: it goes on. Nothing is applied without a person.
	Open bool
	// Failed: the stack's last run failed alike. While it is open the stack rests, unless Probe says that it is the one to
	// be planned to see whether the outage is over; when it has closed, it rests until ResumeAt.
	Failed   bool
	Probe    bool
	ResumeAt time.Time
	// ClosedAt is when it was closed; zero while it is open.
	ClosedAt time.Time
}

func circuitOpen(f Facts) bool { return f.Circuit != nil && f.Circuit.Open }

// circuitRests: another attempt at what many fail at would fail, too. What people ask for or approve is tried all the same,
// and so is a configuration that has not failed yet.
func circuitRests(f Facts) (Decision, bool) {
	c := f.Circuit
	if c == nil || !c.Failed || requested(f) || appliesAsApproved(f) || canceled(f) {
		return Decision{}, false
	}
	if c.Open && c.Probe && dependenciesReady(f) {
		return Decision{Verb: VerbPlan, Reason: ReasonCircuitProbe, Message: fmt.Sprintf("Probing whether the outage of circuit breaker %s is over", c.Name),
			Purpose: lookOrDeploy(f), Destroy: f.Stack.Destroy, Describe: true, Again: unsuccessfulLast(f), Hold: holdsBack(f)}, true
	}
	if !lastFailedSameConfig(f) || !c.Open && !resumesLater(f) {
		return Decision{}, false
	}
	return Decision{Verb: VerbWait, Reason: ReasonCircuitOpen, Message: CircuitMessage(c.Name, c.What, f.Stack.Call), NextCheck: c.ResumeAt}, true
}

// appliesAsApproved: a person approved the pending plan, and nothing keeps it from being applied.
func appliesAsApproved(f Facts) bool {
	_, applies := pendingApproved(f)
	return applies && named(f)
}

// CircuitMessage says why a stack is paused. It stays the same during the outage.
func CircuitMessage(name, what, call string) string {
	return CircuitPrefix(name) + fmt.Sprintf("%s. Yuba retries when the outage is over; to retry now: yuba reconcile %s", what, call)
}

// CircuitPrefix is how CircuitMessage begins, whatever the circuit breaker has learned about the outage meanwhile.
func CircuitPrefix(name string) string { return fmt.Sprintf("Paused by circuit breaker %s: ", name) }

func dependenciesReady(f Facts) bool {
	_, waits := dependencyNotReady(f)
	return !waits
}

func unsuccessfulLast(f Facts) bool {
	return f.Last != nil && unsuccessful(f.Last) && !changedSinceLast(f)
}

// resumes: the outage that the last run failed in is over.
func resumes(f Facts) bool {
	c := f.Circuit
	return c != nil && !c.Open && c.Failed && lastFailedSameConfig(f) && !canceled(f) && !f.Last.Finished.After(c.ClosedAt)
}

// canceled: a person ended the last run, which an outage has nothing to do with, and nothing has changed since.
func canceled(f Facts) bool { return lastFailedSameConfig(f) && f.Last.Stopped }

func resumesLater(f Facts) bool { return resumes(f) && f.Now.Before(f.Circuit.ResumeAt) }

// recovering reports whether drift was not checked since the outage: an outage often looks like
// drift.
func recovering(f Facts) bool {
	return f.Circuit != nil && !f.Circuit.Open && !f.LastDriftCheck.After(f.Circuit.ClosedAt)
}

// deploys says whether a plan made now is about something that people changed, and not about the world alone. While drift is
// held for a person, every plan contains it.
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

// holdsBack names the circuit breaker because of which a plan of a stack that applies by itself is kept for a person;
// empty when it is not.
func holdsBack(f Facts) string {
	switch {
	case !appliesByItself(f.Stack):
		return ""
	case circuitOpen(f):
		return f.Circuit.Name
	// What waits for a person since an outage is not applied as part of something else.
	case driftHeld(f):
		return f.Pending.HeldBy
	case recovering(f) && !deploys(f):
		return f.Circuit.Name
	}
	return ""
}

// outlived: a deployment that was planned during an outage is planned again after it, without the outage's traces.
func outlived(f Facts) bool {
	return f.Pending.HeldBy != "" && !f.Pending.Drift && !circuitOpen(f)
}

// HeldMessage says why a plan waits although the stack applies automatically.
func HeldMessage(plan, by, call string) string {
	return fmt.Sprintf("Plan %s is held for approval by circuit breaker %s although plans are applied automatically: the effects of an outage often look like drift. "+
		"Review it, then: yuba approve %s", plan, by, call)
}
