// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import "time"

const setApprove = `Plan generated: set approvePlan: "plan-main-1" to approve this plan.`

// asRejected is the decision about a rejected plan.
func asRejected(next time.Time) Decision {
	d := awaitsApproval("plan-main-1", "Plan plan-main-1 was rejected; change the stack or run `yuba replan` for a new plan", next)
	d.Reason = ReasonRejected
	return d
}

// Approvals, and changes that void a plan.
var approvalScenarios = scenarios{
	"a plan waits for approval, and drift is looked for meanwhile": {
		awaiting("plan-main-1"), awaitsApproval("plan-main-1", setApprove, nextDriftCheck),
	},
	"a plan after an apply that failed says so until one succeeds": {
		awaiting("plan-main-1").with(func(f *Facts) { f.Stack.ApplyFailed = true }), awaitsApproval("plan-main-1", setApprove+" The last apply failed.", nextDriftCheck),
	},
	"a plan waits without end when nobody looks for drift": {
		awaiting("plan-main-1").ignoringDrift(), awaitsApproval("plan-main-1", setApprove, time.Time{}),
	},
	"the exact id approves": {
		awaiting("plan-main-1").approving("plan-main-1"), applies("plan-main-1"),
	},
	"an approved destroy plan destroys": {
		awaiting("plan-main-1").approving("plan-main-1").toDestroy().with(func(f *Facts) { f.Pending.Destroy = true }),
		applies("plan-main-1").ofDestroy(),
	},
	"the beginning of an id approves nothing": {
		awaiting("plan-main-1").approving("plan-main"),
		awaitsApproval("plan-main-1", setApprove+` (approvePlan names "plan-main", which is not pending.)`, nextDriftCheck),
	},
	"a stale id approves nothing and is named": {
		awaiting("plan-main-1").approving("plan-main-older"),
		awaitsApproval("plan-main-1", setApprove+` (approvePlan names "plan-main-older", which is not pending.)`, nextDriftCheck),
	},
	"the id of the plan applied last approves nothing, and nobody is told about it": {
		awaiting("plan-main-1").approving("plan-main-0"), awaitsApproval("plan-main-1", setApprove, nextDriftCheck),
	},
	"a spent id approves nothing, not even a plan of the same name": {
		awaiting("plan-main-0").approving("plan-main-0"),
		awaitsApproval("plan-main-0", `Plan generated: set approvePlan: "plan-main-0" to approve this plan.`, nextDriftCheck),
	},
	"no approval is not the approval of a plan without a name": {
		awaiting(""), awaitsApproval("", `Plan generated: set approvePlan: "" to approve this plan.`, nextDriftCheck),
	},
	"a waiting plan is applied when the mode becomes auto": {
		awaiting("plan-main-1").auto(), applies("plan-main-1"),
	},
	"a waiting plan is applied when the stack is forced": {
		awaiting("plan-main-1").forced(), applies("plan-main-1"),
	},
	"disable applies no waiting plan": {
		awaiting("plan-main-1").disabled(),
		awaitsApproval("plan-main-1", `Plan generated: nothing is applied while approvePlan is "disable".`, nextDriftCheck),
	},
	"disable applies no waiting plan of a forced stack": {
		awaiting("plan-main-1").disabled().forced(),
		awaitsApproval("plan-main-1", `Plan generated: nothing is applied while approvePlan is "disable".`, nextDriftCheck),
	},
	"plan-only applies no approved plan": {
		awaiting("plan-main-1").approving("plan-main-1").planOnly(),
		awaitsApproval("plan-main-1", "Plan generated: This object is in the plan only mode.", nextDriftCheck),
	},
	"a rejected plan stays": {
		awaiting("plan-main-1").rejecting("plan-main-1"), asRejected(nextDriftCheck),
	},
	"rejecting beats approving": {
		awaiting("plan-main-1").rejecting("plan-main-1").approving("plan-main-1"), asRejected(nextDriftCheck),
	},
	"a rejected plan is not applied by mode auto": {
		awaiting("plan-main-1").rejecting("plan-main-1").auto(), asRejected(nextDriftCheck),
	},
	"what follows a rejected plan is planned, not applied, even in mode auto": {
		awaiting("plan-main-1").rejecting("plan-main-1").auto().requested(), plans(ReasonRequested, wasRequested),
	},
	"the rejection of another plan is of no matter": {
		awaiting("plan-main-1").rejecting("plan-main-older").approving("plan-main-1"), applies("plan-main-1"),
	},
	"an approved plan is applied before a request is served": {
		awaiting("plan-main-1").approving("plan-main-1").requested(), applies("plan-main-1"),
	},
	"an approved plan is applied before drift is looked for": {
		awaiting("plan-main-1").approving("plan-main-1").checkedForDrift(time.Hour), applies("plan-main-1"),
	},
	"a changed configuration voids an approval": {
		awaiting("plan-main-1").approving("plan-main-1").config(other), plans(ReasonConfigChanged, configChanged),
	},
	"a plan of another configuration is stale although the present one was planned": {
		awaiting("plan-main-1").approving("plan-main-1").with(func(f *Facts) { f.Pending.Config = other }),
		plans(ReasonPlanStale, "The configuration has changed since the plan was made"),
	},
	"a moved state voids an approval": {
		awaiting("plan-main-1").approving("plan-main-1").with(func(f *Facts) { f.StateSerial = 8 }),
		plans(ReasonPlanStale, "The state has changed since the plan was made"),
	},
	"a moved state voids an approval in mode auto; the new plan is applied": {
		awaiting("plan-main-1").auto().with(func(f *Facts) { f.StateSerial = 8 }),
		plansAndApplies(ReasonPlanStale, "The state has changed since the plan was made"),
	},
	"a state that went back is another state": {
		awaiting("plan-main-1").approving("plan-main-1").with(func(f *Facts) { f.StateSerial = 6 }),
		plans(ReasonPlanStale, "The state has changed since the plan was made"),
	},
	"an own backend's serial is not known and voids nothing": {
		awaiting("plan-main-1").approving("plan-main-1").ownBackend().with(func(f *Facts) { f.StateSerial = 0 }),
		applies("plan-main-1"),
	},
	"a plan whose bytes are gone is made again, not applied": {
		awaiting("plan-main-1").approving("plan-main-1").with(func(f *Facts) { f.Pending.Usable = false }),
		plans(ReasonPlanStale, "The saved plan can no longer be used"),
	},
	"a destroy plan is void when destroying is no longer wanted": {
		awaiting("plan-main-1").approving("plan-main-1").with(func(f *Facts) { f.Pending.Destroy = true }),
		plans(ReasonPlanStale, "The plan was made for another value of spec.destroy"),
	},
	"an ordinary plan is void when destroying is wanted": {
		awaiting("plan-main-1").approving("plan-main-1").toDestroy(),
		plans(ReasonPlanStale, "The plan was made for another value of spec.destroy").ofDestroy(),
	},
	"a stale plan is made again in plan-only mode too": {
		awaiting("plan-main-1").auto().planOnly().with(func(f *Facts) { f.StateSerial = 8 }),
		plans(ReasonPlanStale, "The state has changed since the plan was made"),
	},
	"nothing approved is applied from an older source while the present one is not ready": {
		awaiting("plan-main-1").approving("plan-main-1").sourceGone(),
		Decision{Verb: VerbFail, Reason: ReasonArtifactFailed, Message: "could not get Source object: it is gone",
			NextCheck: noon.Add(afterFifteen)},
	},
	"nothing approved is applied while inputs are missing": {
		awaiting("plan-main-1").approving("plan-main-1").inputsGone(),
		Decision{Verb: VerbFail, Reason: "InputsMissing", Message: "Secret vpc-credentials is missing",
			NextCheck: noon.Add(afterFifteen)},
	},
}
