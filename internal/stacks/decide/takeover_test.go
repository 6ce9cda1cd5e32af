// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import "time"

// takingOver: the state is a deleted stack's.
func (g *given) takingOver() *given {
	g.facts.Takeover = &Takeover{From: "team/vpc", Deleted: noon.Add(-time.Hour)}
	g.facts.Stack.Call = "vpc -n team"
	return g
}

const (
	tookOver     = "the state of team/vpc (deleted 2026-03-01T11:00:00Z)"
	takeoverHeld = "Plan plan-main-1 waits for approval although plans are applied automatically: the stack took over " + tookOver +
		", and the plan changes it. Review it, then: yuba approve vpc -n team. To start with an empty state instead: yuba state drop vpc -n team"
)

var takeoverWaits = Decision{Verb: VerbWait, Reason: ReasonStateTakenOver, Message: "Deletion waits: destroying what the stack manages would destroy " +
	"what is in " + tookOver + ", which it took over and nobody approved. To destroy it: yuba state adopt vpc -n team. To keep it: set destroyResourcesOnDeletion: false"}

// Adoption of a deleted stack's state by another stack of its name.
var takeoverScenarios = scenarios{
	"mode auto plans, and does not apply": {
		fresh().auto().takingOver(), plans(ReasonFirstPlan, "The stack has not been planned yet"),
	},
	"force plans, and does not apply": {
		fresh().forced().takingOver(), plans(ReasonFirstPlan, "The stack has not been planned yet"),
	},
	"destroy in mode auto plans, and does not destroy": {
		fresh().auto().toDestroy().takingOver(), plans(ReasonFirstPlan, "The stack has not been planned yet").ofDestroy(),
	},
	"the plan waits in mode auto": {
		awaiting("plan-main-1").auto().takingOver(), awaitsApproval("plan-main-1", takeoverHeld, nextDriftCheck),
	},
	"the plan of a forced stack waits": {
		awaiting("plan-main-1").forced().takingOver(), awaitsApproval("plan-main-1", takeoverHeld, nextDriftCheck),
	},
	"a destroy plan waits in mode auto": {
		awaiting("plan-main-1").auto().toDestroy().takingOver().with(func(f *Facts) { f.Pending.Destroy = true }),
		awaitsApproval("plan-main-1", takeoverHeld, time.Time{}),
	},
	"the message of a plan that waits for approval anyway mentions the takeover": {
		awaiting("plan-main-1").takingOver(), awaitsApproval("plan-main-1", setApprove+" The stack took over "+tookOver+".", nextDriftCheck),
	},
	"approval by the annotation applies": {
		awaiting("plan-main-1").auto().takingOver().with(func(f *Facts) { f.Stack.Allowed = "plan-main-1" }), applies("plan-main-1"),
	},
	"approval by the field applies": {
		awaiting("plan-main-1").takingOver().approving("plan-main-1"), applies("plan-main-1"),
	},
	"approval of another plan does not apply": {
		awaiting("plan-main-1").auto().takingOver().with(func(f *Facts) { f.Stack.Allowed = "plan-main-0" }),
		awaitsApproval("plan-main-1", takeoverHeld, nextDriftCheck),
	},
	"drift of the adopted state is reported, not repaired": {
		settled().auto().takingOver().checkedForDrift(everyTenMinutes), plans(ReasonDriftDue, "Checking for drift").forDrift(),
	},
	"a deletion that destroys waits for a person": {
		fresh().deleted().takingOver().with(func(f *Facts) { f.StateExists = true }), takeoverWaits,
	},
	"a deletion that keeps resources does not wait": {
		fresh().keepingResources().takingOver(), keepsResources,
	},
	"a deletion of a destroyed stack does not wait": {
		settled().deleted().takingOver().failed(0, destroying, func(r *Run) { r.Failed = false }), destroyedAll,
	},
}

// takeoverLaw: an adopted state changes only by a plan that a person approved.
func takeoverLaw(f Facts, d Decision) string {
	switch {
	case f.Takeover == nil:
		return ""
	case d.Verb == VerbPlanAndApply:
		return "applies what nobody has seen"
	case d.Verb == VerbApply && d.Subject != f.Stack.Approved && d.Subject != f.Stack.Allowed:
		return "applies what nobody approved"
	}
	return ""
}
